// A filter as an object that nodes call: IDL:weir/Filter:1.0 (wire.h) around a HostedFilter.
//
// Thread safety: as Servant.

#ifndef WEIR_FILTERS_REMOTE_FILTER_SERVANT_H_
#define WEIR_FILTERS_REMOTE_FILTER_SERVANT_H_

#include <string_view>

#include "filters/remote/hosted_filter.h"
#include "orb/core/servant.h"

namespace weir::filters {

class FilterServant : public orb::Servant {
 public:
  // `filter` must outlive the servant and every call of it. It answers to any name.
  explicit FilterServant(HostedFilter* filter) : filter_(filter) {}

  std::string_view repository_id() const override { return kFilterRepositoryId; }
  // Filters do not block.
  bool NeverBlocks() const override { return true; }
  void Dispatch(orb::CallRef call) override;

 private:
  HostedFilter* const filter_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_FILTER_SERVANT_H_
