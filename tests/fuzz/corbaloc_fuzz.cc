// References and endpoints as text. Whatever is accepted is the same when printed and parsed again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/host_port.h"
#include "orb/reference/corbaloc.h"
#include "orb/reference/reference.h"
#include "orb/transport/endpoint_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = orb::ParseCorbaloc(text); parsed.ok()) {
    const auto again = orb::ParseCorbaloc(orb::ToString(*parsed));
    if (!again.ok() || *again != *parsed) abort();
  }
  orb::ParseReference(text, {"vm", {}}).IgnoreError();
  if (const auto parsed = orb::ParseEndpointName(text); parsed.ok()) {
    const auto again = orb::ParseEndpointName(orb::ToString(*parsed));
    if (!again.ok() || *again != *parsed) abort();
  }
  if (const auto parsed = ParseHostPort(text); parsed.ok()) {
    const auto again = ParseHostPort(FormatHostPort(parsed->host, parsed->port));
    if (!again.ok() || *again != *parsed) abort();
  }
  return 0;
}
