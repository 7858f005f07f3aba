#include "tools/bench/weir_server.h"

#include <unistd.h>

#include <filesystem>

#include "base/strings.h"

namespace weir::bench {
namespace {

constexpr Nanos kTimeout = 30 * kSecond;

std::string PlugName(int i) { return StrCat("bench", i); }

std::string Self() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : path.string();
}

void AddMapping(const std::string& plug, const std::string& method, control::v1::Phase phase,
                bool enable, control::v1::ChangeSet* changes) {
  control::v1::Map* const map = changes->add_changes()->mutable_map();
  map->set_plug(plug);
  map->set_operation("*");
  map->set_phase(phase);
  map->set_method(method);
  map->set_enable(enable);
}

}  // namespace

absl::StatusOr<std::string> WeirServer::StartChild(std::vector<std::string> argv) {
  argv.insert(argv.begin(), Self());
  auto child = Child::Start(argv);
  if (!child.ok()) return child.status();
  child_ = *std::move(child);
  return child_->ReadLineWith("ready", kTimeout);
}

absl::Status WeirServer::Start(const std::vector<std::string>& argv) {
  absl::StatusOr<std::string> ready = StartChild(argv);
  if (!ready.ok()) return ready.status();
  // "ready giop:tcp:127.0.0.1:PORT ..."
  constexpr std::string_view kTcp = "giop:tcp:";
  const size_t at = ready->find(kTcp);
  if (at == std::string::npos) {
    return absl::DataLossError(StrCat(argv[0], " names no TCP endpoint: ", *ready));
  }
  const size_t begin = at + kTcp.size();
  tcp_ = StrCat("corbaloc::1.2@", ready->substr(begin, ready->find(' ', begin) - begin), "/echo");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<WeirServer>> WeirServer::StartEcho(const std::string& folder) {
  std::unique_ptr<WeirServer> server(new WeirServer);
  const std::string path = folder + "/echo";
  const std::string control = StrCat("unix:", folder, "/control");
  if (absl::Status s =
          server->Start({"echo", "--listen", "giop:tcp:127.0.0.1:0", "--listen",
                         StrCat("giop:unix:", path), "--control", control, "--store", "memory"});
      !s.ok()) {
    return s;
  }
  server->unix_ = StrCat("corbaloc:omniunix:", path, ":/echo");
  auto client = tools::ControlClient::Connect(control, 10, "weir bench");
  if (!client.ok()) return client.status();
  server->control_ = *std::move(client);
  return server;
}

absl::StatusOr<std::unique_ptr<WeirServer>> WeirServer::StartGateway(const std::string& upstream) {
  std::unique_ptr<WeirServer> server(new WeirServer);
  if (absl::Status s =
          server->Start({"gateway", "--listen", "giop:tcp:127.0.0.1:0", "--upstream", upstream});
      !s.ok()) {
    return s;
  }
  return server;
}

absl::StatusOr<std::unique_ptr<WeirServer>> WeirServer::StartFilterHost(const std::string& folder,
                                                                        const std::string& filter,
                                                                        bool grpc) {
  std::unique_ptr<WeirServer> server(new WeirServer);
  const std::string path = StrCat(folder, "/", filter, grpc ? ".grpc" : ".orb");
  server->filter_at_ =
      grpc ? StrCat("unix:", path) : StrCat("corbaloc:omniunix:", path, ":/filter");
  absl::StatusOr<std::string> ready =
      server->StartChild({"filter-host", "--filter", filter, grpc ? "--grpc" : "--listen",
                          grpc ? server->filter_at_ : StrCat("giop:unix:", path)});
  if (!ready.ok()) return ready.status();
  return server;
}

absl::Status WeirServer::WaitConnected() {
  const SystemClock clock;
  for (const Nanos end = clock.Now() + kTimeout; clock.Now() < end; usleep(500)) {
    control::v1::ListRequest request;
    request.set_plug(PlugName(0));
    absl::StatusOr<control::v1::ListResponse> response = control_->List(request);
    if (!response.ok()) return response.status();
    for (const control::v1::FilterCounter& counter : response->plugs(0).counters()) {
      if (counter.name() == "connected" && counter.value() == 1) return absl::OkStatus();
    }
  }
  return absl::DeadlineExceededError("the filter in another process was not connected in time");
}

absl::Status WeirServer::Plug(const Filters& wanted) {
  if (wanted == plugged_) return absl::OkStatus();
  control::v1::ApplyRequest request;
  control::v1::ChangeSet* const changes = request.mutable_change_set();
  for (int i = 0; i < plugged_.number; ++i) {
    changes->add_changes()->mutable_unplug()->set_name(PlugName(i));
  }
  for (int i = 0; i < wanted.number; ++i) {
    control::v1::Plug* const plug = changes->add_changes()->mutable_plug();
    plug->set_name(PlugName(i));
    plug->set_filter(wanted.kind);
    plug->set_selector("key:echo");
    if (!wanted.at.empty()) (*plug->mutable_parameters())["at"] = wanted.at;
    const std::string& method = wanted.method.empty() ? wanted.kind : wanted.method;
    if (wanted.up) {
      AddMapping(PlugName(i), method, control::v1::PHASE_UP, wanted.enabled, changes);
    }
    if (wanted.down) {
      AddMapping(PlugName(i), method, control::v1::PHASE_DOWN, wanted.enabled, changes);
    }
  }
  if (auto response = control_->Apply(request); !response.ok()) return response.status();
  plugged_ = wanted;
  return wanted.at.empty() || wanted.number == 0 ? absl::OkStatus() : WaitConnected();
}

}  // namespace weir::bench
