#include "control/describe.h"

#include "absl/strings/str_format.h"
#include "base/strings.h"

namespace weir::control {
namespace {

struct Describer {
  std::string operator()(const filters::PlugChange& c) const {
    std::string out = StrCat("plug ", Printable(c.name), " filter ", Printable(c.filter), " on ",
                             Printable(c.selector), " priority ", c.priority);
    if (c.down_priority.has_value()) StrAppend(&out, " down priority ", *c.down_priority);
    for (const std::string& other : c.before) StrAppend(&out, " before ", Printable(other));
    for (const std::string& other : c.after) StrAppend(&out, " after ", Printable(other));
    for (const std::string& condition : c.conditions) {
      StrAppend(&out, " if ", Printable(condition));
    }
    for (const auto& [key, value] : c.parameters) {
      StrAppend(&out, " ", Printable(key), "=", Printable(value));
    }
    return out;
  }
  std::string operator()(const filters::UnplugChange& c) const {
    return StrCat("unplug ", Printable(c.name));
  }
  std::string operator()(const filters::MapChange& c) const {
    return StrCat("map ", Address(c), c.enable ? " enabled" : "");
  }
  std::string operator()(const filters::UnmapChange& c) const {
    return StrCat("unmap ", Address(c));
  }
  std::string operator()(const filters::EnableChange& c) const {
    return StrCat(c.enable ? "enable " : "disable ", Address(c));
  }
  std::string operator()(const filters::ReplyOrderChange& c) const {
    return StrCat("reply order of ", Printable(c.selector), " ", ReplyOrderName(c.order));
  }

  // "audit resolve up request"
  template <typename T>
  static std::string Address(const T& c) {
    return StrCat(Printable(c.plug), " ",
                  c.operation.empty() ? "all operations" : StrCat("'", Printable(c.operation), "'"),
                  c.phase == filters::Phase::kUp ? " up" : " down", c.method.empty() ? "" : " ",
                  Printable(c.method));
  }
};

}  // namespace

std::string_view ReplyOrderName(std::optional<filters::ReplyOrder> order) {
  if (!order.has_value()) return "inherited";
  return *order == filters::ReplyOrder::kPlugOrder ? "plug-order" : "reversed";
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string Describe(const filters::Change& change) { return std::visit(Describer(), change); }

std::string Describe(const filters::ChangeSet& changes, size_t max_bytes) {
  std::string out;
  for (const filters::Change& change : changes) {
    StrAppend(&out, out.empty() ? "" : "; ", Describe(change));
    if (out.size() > max_bytes) {
      out.resize(max_bytes);
      return out + "...";
    }
  }
  return out;
}

}  // namespace weir::control
