// The GIOP messaging protocol, versions 1.0, 1.1 and 1.2 (CORBA 3.3 part 2, 9.4). `main` registers
// it with the Orb; README.md of this folder describes its parts.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_ORB_GIOP_GIOP_H_
#define WEIR_ORB_GIOP_GIOP_H_

#include <memory>
#include <string_view>

#include "orb/core/codec.h"
#include "orb/giop/limits.h"

namespace weir::giop {

class Giop : public orb::Messaging {
 public:
  explicit Giop(const Limits& limits = Limits());

  std::string_view name() const override { return "giop"; }
  // The codec may outlive this object.
  std::unique_ptr<orb::Codec> NewCodec(orb::Role role) override;

  // Bytes that all codecs hold for incomplete messages, for metrics.
  size_t partial_bytes() const { return shared_->budget.used(); }

  // What all codecs share.
  struct Shared {
    explicit Shared(const Limits& l) : limits(l), budget(l.max_partial_bytes) {}
    const Limits limits;
    PartialBudget budget;
  };

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_GIOP_H_
