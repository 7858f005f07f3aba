#include "filters/builtin/transform.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "filters/hex.h"
#include "filters/parameters.h"

namespace weir::filters {
namespace {

// Octets of one context, and names of one operation: what a message may carry beside its body is
// small.
constexpr size_t kMostOctets = 4096;
constexpr size_t kMostOperation = 255;

// What happens to the service contexts of a message.
class ContextChanges {
 public:
  // Reads two parameters: the ids to drop, "0x1,17", and what to add, "0x57454920:00,17:0102".
  void Read(ParameterReader* read, std::string_view drop, std::string_view add) {
    for (const absl::string_view text : Words(read->Text(drop))) {
      const std::optional<uint32_t> id = ParseId(ToStd(text));
      if (!id.has_value()) {
        return read->Fail(drop, "it must be numbers with commas between, such as 0x57454920,17");
      }
      dropped_.push_back(*id);
    }
    for (const absl::string_view text : Words(read->Text(add))) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(text, absl::MaxSplits(':', 1));
      const std::optional<uint32_t> id = ParseId(ToStd(parts.first));
      std::optional<std::string> data = ParseHex(ToStd(parts.second), kMostOctets);
      if (!id.has_value() || !data.has_value() || text.find(':') == text.npos) {
        return read->Fail(add,
                          "it must be ID:HEX with commas between, at most 4096 octets each, such "
                          "as 0x57454920:00");
      }
      dropped_.push_back(*id);
      added_.emplace_back(*id, *std::move(data));
    }
  }

  bool empty() const { return dropped_.empty() && added_.empty(); }

  // The vector may have to grow; the data stays with the filter, which outlives the call.
  void Apply(std::vector<orb::ServiceContext>* contexts) const {
    std::erase_if(*contexts, [this](const orb::ServiceContext& context) {
      return std::find(dropped_.begin(), dropped_.end(), context.id) != dropped_.end();
    });
    for (const auto& [id, data] : added_) contexts->push_back({id, data});
  }

 private:
  static std::vector<absl::string_view> Words(std::string_view text) {
    return absl::StrSplit(ToAbsl(text), ',', absl::SkipEmpty());
  }
  static std::optional<uint32_t> ParseId(std::string_view text) {
    uint32_t id = 0;
    const bool good = text.starts_with("0x") ? absl::SimpleHexAtoi(ToAbsl(text), &id)
                                             : absl::SimpleAtoi(ToAbsl(text), &id);
    return good ? std::optional<uint32_t>(id) : std::nullopt;
  }

  std::vector<uint32_t> dropped_;
  std::vector<std::pair<uint32_t, std::string>> added_;
};

class TransformFilter : public Filter {
 public:
  TransformFilter(std::string operation, ContextChanges up, ContextChanges down)
      : operation_(std::move(operation)), up_(std::move(up)), down_(std::move(down)) {}

  Verdict Up(int, orb::Call& call) override {
    if (!operation_.empty()) call.request().operation = operation_;
    if (!up_.empty()) up_.Apply(&call.request().contexts);
    return Verdict::kPass;
  }
  Verdict Down(int, orb::Call& call) override {
    if (!down_.empty()) down_.Apply(&call.reply().contexts);
    return Verdict::kPass;
  }

 private:
  const std::string operation_;
  const ContextChanges up_, down_;
};

class TransformKind : public FilterKind {
 public:
  std::string_view name() const override { return "transform"; }
  std::string_view help() const override {
    return "Makes another message of a message: gives requests another operation, and drops and "
           "adds service contexts of requests and replies. Bodies stay as they are, so the other "
           "operation must take the same arguments and give the same result.";
  }
  absl::Span<const MethodInfo> methods() const override { return methods_; }
  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }

  absl::StatusOr<std::unique_ptr<Filter>> New(const FilterParameters& parameters,
                                              const FilterContext&) const override {
    ParameterReader read(*this, parameters);
    const std::string_view operation = read.Text("operation");
    const bool good = std::all_of(operation.begin(), operation.end(),
                                  [](unsigned char c) { return c > 0x20 && c < 0x7f; });
    if (!good || operation.size() > kMostOperation) {
      read.Fail("operation", "it must be an IDL name, such as resolve or _get_balance");
    }
    ContextChanges up, down;
    up.Read(&read, "drop-contexts", "add-contexts");
    down.Read(&read, "drop-reply-contexts", "add-reply-contexts");
    if (parameters.empty()) {
      read.Fail("filter 'transform' needs at least one of its parameters: it would change nothing");
    }
    if (!read.ok()) return read.status();
    return std::make_unique<TransformFilter>(std::string(operation), std::move(up),
                                             std::move(down));
  }

 private:
  const std::vector<MethodInfo> methods_ = {
      {.name = "transform",
       .phase = Phase::kUp,
       .reads = Reads::kHeader,
       .changes = true,
       .help = "changes the operation and the service contexts of requests"},
      {.name = "transform_reply",
       .phase = Phase::kDown,
       .reads = Reads::kHeader,
       .changes = true,
       .help = "changes the service contexts of replies"},
  };
  const std::vector<ParameterInfo> parameters_ = {
      {.name = "operation",
       .value = "NAME",
       .example = "resolve_cached",
       .help = "what requests ask for instead; unless set, they keep their operation"},
      {.name = "drop-contexts",
       .value = "ID,ID...",
       .help = "service contexts that requests lose, by their ids"},
      {.name = "add-contexts",
       .value = "ID:HEX,ID:HEX...",
       .help = "service contexts that requests get, in place of those with the same id"},
      {.name = "drop-reply-contexts", .value = "ID,ID...", .help = "the same for replies"},
      {.name = "add-reply-contexts", .value = "ID:HEX,ID:HEX...", .help = "the same for replies"},
  };
};

}  // namespace

std::unique_ptr<FilterKind> NewTransformKind() { return std::make_unique<TransformKind>(); }

}  // namespace weir::filters
