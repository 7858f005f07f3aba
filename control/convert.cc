#include "control/convert.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace weir::control {

v1::Phase ToProto(filters::Phase phase) {
  return phase == filters::Phase::kUp ? v1::PHASE_UP : v1::PHASE_DOWN;
}

namespace {

using filters::Phase;
using filters::ReplyOrder;

absl::StatusOr<Phase> PhaseFromProto(v1::Phase phase) {
  switch (phase) {
    case v1::PHASE_UP:
      return Phase::kUp;
    case v1::PHASE_DOWN:
      return Phase::kDown;
    default:
      return absl::InvalidArgumentError("the phase is neither PHASE_UP nor PHASE_DOWN");
  }
}

absl::StatusOr<std::optional<ReplyOrder>> ReplyOrderFromProto(v1::ReplyOrder order) {
  switch (order) {
    case v1::REPLY_ORDER_REVERSED:
      return ReplyOrder::kReversed;
    case v1::REPLY_ORDER_PLUG_ORDER:
      return ReplyOrder::kPlugOrder;
    case v1::REPLY_ORDER_INHERITED:
      return std::nullopt;
    default:
      return absl::InvalidArgumentError(
          "the reply order is none of REPLY_ORDER_REVERSED, REPLY_ORDER_PLUG_ORDER and "
          "REPLY_ORDER_INHERITED");
  }
}

v1::ReplyOrder ReplyOrderToProto(std::optional<ReplyOrder> order) {
  if (!order.has_value()) return v1::REPLY_ORDER_INHERITED;
  return *order == ReplyOrder::kPlugOrder ? v1::REPLY_ORDER_PLUG_ORDER : v1::REPLY_ORDER_REVERSED;
}

absl::StatusOr<filters::Change> FromProto(const v1::Change& change) {
  switch (change.change_case()) {
    case v1::Change::kPlug: {
      const v1::Plug& c = change.plug();
      return filters::PlugChange{
          c.name(),
          c.filter(),
          {c.parameters().begin(), c.parameters().end()},
          c.selector(),
          c.priority(),
          c.has_down_priority() ? std::optional(c.down_priority()) : std::nullopt,
          {c.before().begin(), c.before().end()},
          {c.after().begin(), c.after().end()},
          {c.conditions().begin(), c.conditions().end()}};
    }
    case v1::Change::kUnplug:
      return filters::UnplugChange{change.unplug().name()};
    case v1::Change::kMap: {
      const v1::Map& c = change.map();
      absl::StatusOr<Phase> phase = PhaseFromProto(c.phase());
      if (!phase.ok()) return phase.status();
      return filters::MapChange{c.plug(), c.operation(), c.method(), *phase, c.enable()};
    }
    case v1::Change::kUnmap: {
      const v1::Unmap& c = change.unmap();
      absl::StatusOr<Phase> phase = PhaseFromProto(c.phase());
      if (!phase.ok()) return phase.status();
      return filters::UnmapChange{c.plug(), c.operation(), c.method(), *phase};
    }
    case v1::Change::kEnable: {
      const v1::Enable& c = change.enable();
      absl::StatusOr<Phase> phase = PhaseFromProto(c.phase());
      if (!phase.ok()) return phase.status();
      return filters::EnableChange{c.plug(), c.operation(), c.method(), *phase, true};
    }
    case v1::Change::kDisable: {
      const v1::Disable& c = change.disable();
      absl::StatusOr<Phase> phase = PhaseFromProto(c.phase());
      if (!phase.ok()) return phase.status();
      return filters::EnableChange{c.plug(), c.operation(), c.method(), *phase, false};
    }
    case v1::Change::kSetReplyOrder: {
      const v1::SetReplyOrder& c = change.set_reply_order();
      absl::StatusOr<std::optional<ReplyOrder>> order = ReplyOrderFromProto(c.order());
      if (!order.ok()) return order.status();
      return filters::ReplyOrderChange{c.selector(), *order};
    }
    case v1::Change::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("it says nothing that this node knows");
}

// Of a PlugChange or a Plug.
template <typename From>
void FillPlug(const From& from, v1::Plug* to) {
  to->set_name(from.name);
  to->set_filter(from.filter);
  to->mutable_parameters()->insert(from.parameters.begin(), from.parameters.end());
  to->set_selector(from.selector);
  to->set_priority(from.priority);
  if (from.down_priority.has_value()) to->set_down_priority(*from.down_priority);
  to->mutable_before()->Add(from.before.begin(), from.before.end());
  to->mutable_after()->Add(from.after.begin(), from.after.end());
  to->mutable_conditions()->Add(from.conditions.begin(), from.conditions.end());
}

// Fills a v1::Change from each kind of filters::Change.
struct Writer {
  v1::Change* out;

  void operator()(const filters::PlugChange& c) const { FillPlug(c, out->mutable_plug()); }
  void operator()(const filters::UnplugChange& c) const { out->mutable_unplug()->set_name(c.name); }
  void operator()(const filters::MapChange& c) const {
    Address(c, out->mutable_map());
    out->mutable_map()->set_enable(c.enable);
  }
  void operator()(const filters::UnmapChange& c) const { Address(c, out->mutable_unmap()); }
  void operator()(const filters::EnableChange& c) const {
    if (c.enable) {
      Address(c, out->mutable_enable());
    } else {
      Address(c, out->mutable_disable());
    }
  }
  void operator()(const filters::ReplyOrderChange& c) const {
    out->mutable_set_reply_order()->set_selector(c.selector);
    out->mutable_set_reply_order()->set_order(ReplyOrderToProto(c.order));
  }

  template <typename From, typename To>
  static void Address(const From& from, To* to) {
    to->set_plug(from.plug);
    to->set_operation(from.operation);
    to->set_phase(ToProto(from.phase));
    to->set_method(from.method);
  }
};

}  // namespace

absl::StatusOr<filters::ChangeSet> FromProto(const v1::ChangeSet& changes) {
  if (changes.changes().empty()) {
    return absl::InvalidArgumentError("the change set is empty: nothing to apply");
  }
  filters::ChangeSet out;
  out.reserve(changes.changes_size());
  for (const v1::Change& change : changes.changes()) {
    absl::StatusOr<filters::Change> one = FromProto(change);
    if (!one.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("change ", out.size() + 1, ": ", one.status().message()));
    }
    out.push_back(*std::move(one));
  }
  return out;
}

v1::ChangeSet ToProto(const filters::ChangeSet& changes) {
  v1::ChangeSet out;
  for (const filters::Change& change : changes) std::visit(Writer{out.add_changes()}, change);
  return out;
}

v1::SetReplyOrder ToProto(const filters::TargetReplyOrder& target) {
  v1::SetReplyOrder out;
  out.set_selector(target.selector);
  out.set_order(ReplyOrderToProto(target.order));
  return out;
}

v1::PlugState ToProto(const filters::Plug& plug) {
  v1::PlugState out;
  FillPlug(plug, out.mutable_plug());
  out.set_sequence(plug.sequence);
  for (const filters::Mapping& mapping : plug.mappings) {
    v1::Mapping* m = out.add_mappings();
    m->set_operation(mapping.operation);
    m->set_phase(ToProto(mapping.phase));
    m->set_method(mapping.method);
    m->set_enabled(mapping.enabled);
  }
  return out;
}

}  // namespace weir::control
