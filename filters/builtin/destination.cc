#include "filters/builtin/destination.h"

#include <utility>

#include "base/strings.h"
#include "filters/escape.h"
#include "orb/core/system_exception.h"
#include "orb/reference/reference.h"

namespace weir::filters {
namespace {

// Stops keys that no server would take.
constexpr size_t kMostKey = 4096;

}  // namespace

absl::StatusOr<Destination> Destination::Parse(std::string_view text) {
  Destination result;
  result.text_ = std::string(text);
  result.elsewhere_ = text.starts_with("corbaloc:") || text.starts_with("IOR:");
  if (result.elsewhere_) {
    const absl::StatusOr<orb::Reference> reference = orb::ParseReference(text, {});
    if (!reference.ok()) return absl::InvalidArgumentError(reference.status().message());
    if (reference->rir || reference->object_key.empty()) {
      return absl::InvalidArgumentError(
          "the reference must name an address and an object, as in "
          "corbaloc::1.2@HOST:PORT/KEY");
    }
    result.to_ = std::string(text);
    result.key_ = reference->object_key;
    return result;
  }
  absl::StatusOr<std::string> key = UnescapeKey(text);
  if (!key.ok() || key->empty() || key->size() > kMostKey) {
    return absl::InvalidArgumentError(
        "it must be an object key, with %XX for bytes that are no text, such as NameService, or a "
        "reference, corbaloc:... or IOR:...");
  }
  result.to_ = result.key_ = *std::move(key);
  return result;
}

Verdict Destination::Send(orb::Call* call) const {
  if (!elsewhere_) {
    call->Redirect(to_);
    return Verdict::kRedirect;
  }
  if (const absl::Status status = call->RedirectTo(to_); !status.ok()) {
    call->SetSystemException(orb::FromStatus(status));
    return Verdict::kBounce;
  }
  return Verdict::kRedirect;
}

}  // namespace weir::filters
