#include "control/node.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sip_hash.h"

namespace weir::control {
namespace {

filters::InterfaceLimits WithHashKey(filters::InterfaceLimits limits) {
  if (limits.hash_key != SipKey{0, 0}) return limits;
  std::random_device random;
  for (uint64_t& word : limits.hash_key) word = uint64_t{random()} << 32 | random();
  return limits;
}

}  // namespace

Node::Node(const NodeOptions& options, const filters::FilterKinds* kinds, const Clock* clock,
           Logger* logger)
    : options_(options),
      clock_(clock),
      logger_(logger),
      registry_(kinds, clock, logger, {}, WithHashKey(options.interfaces)) {}

Node::~Node() = default;

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const NodeOptions& options,
                                                  const filters::FilterKinds* kinds,
                                                  const Clock* clock, Logger* logger) {
  std::unique_ptr<Node> node(new Node(options, kinds, clock, logger));
  absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(options.store, options.store_limits);
  if (!store.ok()) return store.status();
  node->store_ = *std::move(store);
  absl::Status restored = node->Restore();
  if (!restored.ok()) return restored;
  node->service_ = std::make_unique<Service>(&node->registry_, node->store_.get(), clock, logger,
                                             options.limits);
  return node;
}

absl::Status Node::Restore() {
  absl::StatusOr<filters::State> state = store_->Load();
  if (!state.ok()) return state.status();
  absl::StatusOr<filters::Prepared> prepared = registry_.PrepareState(*state);
  if (!prepared.ok()) {
    const std::string text =
        absl::StrCat("store ", store_->name(), ": its revision ", state->revision,
                     " cannot be restored: ", prepared.status().message(),
                     "; start a version of this program that knows it, or unplug it there first");
    logger_->Log(LogLevel::kError, text);
    return absl::FailedPreconditionError(text);
  }
  const size_t plugs = prepared->state.plugs.size();
  registry_.Publish(*std::move(prepared));
  logger_->Log(LogLevel::kInfo, absl::StrCat("store ", store_->name(), ": restored revision ",
                                             state->revision, " with ", plugs, " plugs"));
  return absl::OkStatus();
}

absl::Status Node::Serve(NodeInfoSource info) {
  if (options_.control.empty()) return absl::OkStatus();
  ServerOptions server_options;
  server_options.address = options_.control;
  server_options.allow_remote = options_.allow_remote;
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(server_options, service_.get(), clock_, std::move(info));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  logger_->Log(LogLevel::kInfo, absl::StrCat("control: listening on ", server_->address()));
  return absl::OkStatus();
}

std::string Node::control_address() const {
  return server_ == nullptr ? std::string() : server_->address();
}

void Node::Shutdown(Nanos deadline) {
  if (server_ != nullptr) server_->Shutdown(deadline);
}

}  // namespace weir::control
