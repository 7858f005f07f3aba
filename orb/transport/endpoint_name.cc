#include "orb/transport/endpoint_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/strings.h"

namespace weir::orb {
namespace {

constexpr std::string_view kPublish = "publish=";

absl::Status Bad(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      StrCat("endpoint '", Escape(text), "': ", what,
             "; write MESSAGING:TRANSPORT:ADDRESS, as in giop:tcp:127.0.0.1:2809 or "
             "giop:unix:/run/x.sock"));
}

bool IsLayerName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '_';
  });
}

}  // namespace

absl::StatusOr<EndpointName> ParseEndpointName(std::string_view text) {
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return absl::ascii_iscntrl(c) || c == ' '; })) {
    return Bad(text, "contains a space or control character");
  }
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos) return Bad(text, "needs three parts with ':' between them");

  EndpointName name;
  name.messaging = text.substr(0, first);
  name.transport = text.substr(first + 1, second - first - 1);
  if (!IsLayerName(name.messaging)) {
    return Bad(text, StrCat("'", name.messaging, "' is no messaging protocol's name"));
  }
  if (!IsLayerName(name.transport)) {
    return Bad(text, StrCat("'", name.transport, "' is no transport's name"));
  }

  const std::string_view rest = text.substr(second + 1);
  const size_t question = std::min(rest.find('?'), rest.size());
  name.address = rest.substr(0, question);
  if (name.address.empty()) return Bad(text, "no address behind the transport");
  if (question == rest.size()) return name;

  const std::string_view option = rest.substr(question + 1);
  if (!option.starts_with(kPublish)) {
    return Bad(text,
               StrCat("unknown option '", option, "' behind '?', the only one is publish=ADDRESS"));
  }
  name.publish = option.substr(kPublish.size());
  if (name.publish.empty()) return Bad(text, "no address behind publish=");
  if (name.publish.find_first_of("?&") != name.publish.npos) {
    return Bad(text, "more than one option behind '?', the only one is publish=ADDRESS");
  }
  return name;
}

std::string ToString(const EndpointName& name) {
  std::string text = StrCat(name.messaging, ":", name.transport, ":", name.address);
  if (!name.publish.empty()) StrAppend(&text, "?", kPublish, name.publish);
  return text;
}

}  // namespace weir::orb
