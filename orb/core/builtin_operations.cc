#include "orb/core/builtin_operations.h"

#include "orb/cdr/decoder.h"

namespace weir::orb {

bool ServeBuiltin(const Servant& servant, Call* call) {
  const std::string_view operation = call->request().operation;
  if (operation.empty() || operation[0] != '_') return false;
  if (operation == "_is_a") {
    const Body& body = call->request().body;
    cdr::Decoder in = body.decoder();
    const std::string_view id = in.ReadString();
    if (!in.ok()) {
      call->SetSystemException({ExceptionId::kMarshal, WeirMinor::kMalformed, Completion::kNo});
      return true;
    }
    const bool is_a = id == "IDL:omg.org/CORBA/Object:1.0" || servant.IsA(id);
    call->NewBody().WriteBoolean(is_a);
  } else if (operation == "_non_existent" || operation == "_not_existent") {
    call->NewBody().WriteBoolean(false);
  } else if (operation == "_repository_id") {
    call->NewBody().WriteString(servant.repository_id());
  } else if (operation == "_component") {
    // A nil reference: the object is no component's facet.
    cdr::Encoder out = call->NewBody();
    out.WriteString("");
    out.WriteULong(0);
  } else if (operation == "_interface") {
    // There is no interface repository.
    call->SetSystemException({ExceptionId::kIntfRepos, OmgMinor(1), Completion::kNo});
    return true;
  } else {
    return false;
  }
  call->SetResult();
  return true;
}

}  // namespace weir::orb
