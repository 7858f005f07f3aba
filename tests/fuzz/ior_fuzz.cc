// The octets of an IOR, as in a LOCATION_FORWARD. Whatever is accepted can be shown, and is the
// same after a round trip.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "orb/reference/corbaloc.h"
#include "orb/reference/describe.h"
#include "orb/reference/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  cdr::Decoder in = cdr::Decoder::FromEncapsulation({reinterpret_cast<const char*>(data), size});
  const absl::StatusOr<orb::Ior> ior = orb::DecodeIor(&in);
  if (!ior.ok()) return 0;
  const absl::StatusOr<orb::Ior> again = orb::ParseIor(orb::ToString(*ior));
  if (!again.ok() || *again != *ior) abort();
  for (const std::string& text : {orb::Describe(*ior), orb::DescribeJson(*ior)}) {
    for (const char c : text) {
      if (c != '\n' && (c < ' ' || c > '~')) abort();
    }
  }
  const orb::ReferenceContext context{"vm", {}};
  const absl::StatusOr<orb::Reference> reference = orb::ReferenceFromIor(*ior, context);
  if (!reference.ok()) return 0;
  if (reference->endpoints.size() > context.limits.max_endpoints) abort();
  const std::string corbaloc = orb::ToCorbaloc(*reference);
  if (!corbaloc.empty()) {
    const absl::StatusOr<orb::Reference> same = orb::ParseReference(corbaloc, context);
    if (!same.ok() || same->object_key != reference->object_key) abort();
  }
  return 0;
}
