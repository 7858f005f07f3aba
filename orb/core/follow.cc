// The invoker's part that follows LOCATION_FORWARD, and says which of them it does not.

#include <utility>

#include "base/host_port.h"
#include "base/strings.h"
#include "orb/core/invoker.h"

namespace weir::orb {
namespace {

bool IsThisHost(std::string_view host, std::string_view hostname) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" ||
         (!hostname.empty() && host == hostname);
}

std::string HostOf(const Endpoint& endpoint) {
  absl::StatusOr<HostPort> where = ParseHostPort(endpoint.address);
  return where.ok() ? where->host : endpoint.address;
}

}  // namespace

bool Invoker::Allowed(const Target& from, const Reference& to) const {
  switch (context_->limits.forward_policy) {
    case ForwardPolicy::kNever:
      return false;
    case ForwardPolicy::kAny:
      return true;
    case ForwardPolicy::kSameHost:
      break;
  }
  for (const Endpoint& e : to.endpoints) {
    if (e.transport == "unix") continue;
    bool known = false;
    for (const Endpoint& f : from.reference().endpoints) {
      // A Unix socket is of this host.
      known = known || (f.transport == "unix" ? IsThisHost(HostOf(e), reference_context_.hostname)
                                              : HostOf(f) == HostOf(e));
    }
    if (!known) return false;
  }
  return true;
}

Invoker::Step Invoker::Follow(Invocation* call, cdr::Decoder in) {
  if (++call->forwards_ > context_->limits.max_forwards) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kForwardLoop, Completion::kNo},
                StrCat("forwarded more than ", context_->limits.max_forwards, " times in a row"),
                "", "do servers send it in a circle?");
  }
  absl::StatusOr<Ior> ior = DecodeIor(&in);
  absl::StatusOr<Reference> reference =
      ior.ok() ? ReferenceFromIor(*std::move(ior), reference_context_) : ior.status();
  if (!reference.ok()) {
    return Fail(call, {ExceptionId::kInvObjref, WeirMinor::kMalformed, Completion::kNo},
                "forwarded to a bad reference", ToStd(reference.status().message()));
  }
  const std::shared_ptr<Target> origin = call->origin_ ? call->origin_ : call->target_;
  if (!Allowed(*origin, *reference)) {
    return Fail(call, {ExceptionId::kTransient, WeirMinor::kForwardRefused, Completion::kNo},
                StrCat("forwarded to ",
                       reference->endpoints.empty() ? "nowhere" : reference->endpoints[0].address,
                       ", which the forward policy does not allow"),
                "", "if that host is trusted, allow it or use its own reference");
  }
  absl::StatusOr<std::shared_ptr<Target>> next = NewTarget(*std::move(reference));
  if (!next.ok()) return Fail(call, FromStatus(next.status()), ToStd(next.status().message()));
  if (origin->remembers_forward) origin->set_forward(*next);
  call->origin_ = origin;
  call->target_ = *std::move(next);
  call->reply.Clear();
  return Step::kAgain;
}

}  // namespace weir::orb
