#include "tools/bench/filtered.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "filters/builtin/builtin.h"
#include "filters/registry.h"
#include "tools/bench/at_server.h"
#include "tools/bench/echo_client.h"
#include "tools/bench/folder.h"
#include "tools/bench/weir_server.h"
#include "tools/weir/orb_setup.h"

namespace weir::bench {
namespace {

// As published: a filter in another process, on the machines of its time.
constexpr double kPublishedPass = 2.5;
constexpr double kPublishedBounce = 1.6;
constexpr double kPublishedDisabled = 2.0;

// Calls of an echo server with filters in this process, around the calls that it makes.
class AtClient : public Contender {
 public:
  AtClient(filters::Registry* registry, WeirServer* server, filters::ChangeSet changes,
           std::unique_ptr<EchoClient> client)
      : registry_(registry),
        server_(server),
        changes_(std::move(changes)),
        client_(std::move(client)) {}
  absl::StatusOr<Nanos> Run(int calls) override {
    if (absl::Status s = server_->Plug({}); !s.ok()) return s;
    if (absl::Status s = Commit(changes_); !s.ok()) return s;
    absl::StatusOr<Nanos> time = client_->Run(calls);
    if (absl::Status s = Commit({filters::UnplugChange{"bench"}}); !s.ok()) return s;
    return time;
  }

 private:
  absl::Status Commit(const filters::ChangeSet& changes) {
    auto prepared = registry_->Prepare(changes, std::nullopt);
    if (!prepared.ok()) return prepared.status();
    registry_->Publish(*std::move(prepared));
    return absl::OkStatus();
  }

  filters::Registry* const registry_;
  WeirServer* const server_;
  const filters::ChangeSet changes_;
  const std::unique_ptr<EchoClient> client_;
};

// Beta messages, by gRPC over a Unix socket: turns from one of two states to the other and back.
class Beta : public Contender {
 public:
  Beta(WeirServer* server, Filters one, Filters other)
      : server_(server), one_(std::move(one)), other_(std::move(other)) {}
  // Each takes as long as several calls, so fewer are sent, and the time is scaled.
  absl::StatusOr<Nanos> Run(int calls) override {
    const int turns = std::max(1, calls / 50);
    if (absl::Status s = server_->Plug(one_); !s.ok()) return s;
    const Nanos began = clock_.Now();
    for (int i = 0; i < turns; ++i) {
      if (absl::Status s = server_->Plug(other_); !s.ok()) return s;
      if (absl::Status s = server_->Plug(one_); !s.ok()) return s;
    }
    return (clock_.Now() - began) / (2 * turns) * calls;
  }

 private:
  const SystemClock clock_;
  WeirServer* const server_;
  const Filters one_, other_;
};

class Filtered {
 public:
  explicit Filtered(const InterleaveOptions& options) { report_.options = options; }
  ~Filtered() {
    for (auto* orb : {filtering_orb_.get(), orb_.get()}) {
      if (orb != nullptr) (void)orb->Shutdown(clock_.Now() + kSecond);
    }
  }

  absl::StatusOr<Report> Measure() {
    if (absl::Status s = SetUp(); !s.ok()) return s;
    std::vector<Contender*> contenders;
    for (const auto& [row, contender] : contenders_) contenders.push_back(contender.get());
    auto times = Interleave(contenders, report_.options);
    if (!times.ok()) return times.status();
    for (size_t i = 0; i < contenders_.size(); ++i) {
      Row row = contenders_[i].first;
      row.nanos = Summarize((*times)[i]);
      if (!row.base.empty()) {
        size_t base = 0;
        while (contenders_[base].first.name != row.base) ++base;
        std::vector<double> ratios;
        for (size_t r = 0; r < (*times)[i].size(); ++r) {
          ratios.push_back((*times)[i][r] / (*times)[base][r]);
        }
        row.ratio = Summarize(std::move(ratios));
      }
      report_.rows.push_back(std::move(row));
    }
    report_.notes.push_back(
        "published: a filter in another process, of a framework whose ratios to its own direct "
        "call "
        "were 2.5 (pass), 1.6 (bounce) and 2.0 (disabled).");
    return std::move(report_);
  }

 private:
  absl::Status SetUp() {
    if (folder_.path().empty()) return absl::UnavailableError("no folder can be made in /tmp");
    if (absl::Status s = Take(WeirServer::StartEcho(folder_.path()), &echo_); !s.ok()) return s;
    for (const auto& [filter, grpc, server] :
         {std::tuple{"count", true, &grpc_count_}, std::tuple{"deny", true, &grpc_deny_},
          std::tuple{"count", false, &ref_count_}, std::tuple{"deny", false, &ref_deny_}}) {
      absl::Status s = Take(WeirServer::StartFilterHost(folder_.path(), filter, grpc), server);
      if (!s.ok()) return s;
    }
    orb_ = tools::NewOrb({}, &clock_, &logger_, nullptr);
    if (absl::Status s = orb_->Start(); !s.ok()) return s;
    filters::AddBuiltinFilters(&kinds_);
    registry_ = std::make_unique<filters::Registry>(&kinds_, &clock_, &logger_);
    filtering_orb_ = tools::NewOrb({}, &clock_, &logger_, nullptr);
    filtering_orb_->FilterOutgoing(registry_->gate());
    if (absl::Status s = filtering_orb_->Start(); !s.ok()) return s;

    for (const auto& [transport, reference] :
         {std::pair<std::string, std::string>{"tcp", echo_->tcp()}, {"unix", echo_->unix()}}) {
      if (absl::Status s = AddTransport(transport, reference); !s.ok()) return s;
    }
    contenders_.emplace_back(Row{.name = "plug, map, enable; or unplug"},
                             std::make_unique<Beta>(echo_.get(), Filters{}, Pass(true)));
    contenders_.emplace_back(Row{.name = "plug and map anew, disabled; or enabled"},
                             std::make_unique<Beta>(echo_.get(), Pass(false), Pass(true)));
    return absl::OkStatus();
  }

  static absl::Status Take(absl::StatusOr<std::unique_ptr<WeirServer>> from,
                           std::unique_ptr<WeirServer>* to) {
    if (!from.ok()) return from.status();
    *to = *std::move(from);
    return absl::OkStatus();
  }

  static Filters Pass(bool enabled) { return {"count", 1, true, true, enabled}; }
  static Filters Bounce() { return {"deny", 1, true, false, true}; }
  // The same filters, elsewhere.
  static Filters At(std::string kind, const WeirServer& host, Filters filters) {
    filters.method = filters.kind;
    filters.kind = std::move(kind);
    filters.at = host.filter_at();
    return filters;
  }
  static filters::ChangeSet ClientPlug(const std::string& kind, bool down, bool enable) {
    filters::ChangeSet changes = {
        filters::PlugChange{"bench", kind, {}, "all", 0},
        filters::MapChange{"bench", "*", kind, filters::Phase::kUp, enable}};
    if (down) {
      changes.push_back(filters::MapChange{"bench", "*", kind, filters::Phase::kDown, enable});
    }
    return changes;
  }

  absl::Status AddTransport(const std::string& transport, const std::string& reference) {
    using Budget = std::optional<double>;
    const auto result = EchoClient::Expect::kResult;
    const auto exception = EchoClient::Expect::kSystemException;
    const std::string direct = StrCat("direct, ", transport);
    const auto add = [&](orb::Orb* orb, std::string name, EchoClient::Expect expect, Budget budget,
                         Budget published, const auto& make) -> absl::Status {
      auto client = EchoClient::New(orb, reference);
      if (!client.ok()) return client.status();
      (*client)->set_expect(expect);
      Row row{.name = StrCat(name, ", ", transport), .budget = budget, .published = published};
      if (row.name != direct) row.base = direct;
      contenders_.emplace_back(std::move(row), make(*std::move(client)));
      return absl::OkStatus();
    };
    for (const auto& [name, filters, expect, budget, published] :
         std::vector<std::tuple<const char*, Filters, EchoClient::Expect, Budget, Budget>>{
             {"direct", {}, result, {}, {}},
             {"in process: disabled", Pass(false), result, 1.01, kPublishedDisabled},
             {"in process: pass", Pass(true), result, 1.03, kPublishedPass},
             {"in process: bounce", Bounce(), exception, 1.0, kPublishedBounce},
             {"by gRPC: disabled", At("grpc", *grpc_count_, Pass(false)), result, 1.01,
              kPublishedDisabled},
             {"by gRPC: pass", At("grpc", *grpc_count_, Pass(true)), result, {}, kPublishedPass},
             {"by gRPC: bounce",
              At("grpc", *grpc_deny_, Bounce()),
              exception,
              {},
              kPublishedBounce},
             {"as an object: disabled", At("ref", *ref_count_, Pass(false)), result, 1.01,
              kPublishedDisabled},
             {"as an object: pass", At("ref", *ref_count_, Pass(true)), result, {}, kPublishedPass},
             {"as an object: bounce",
              At("ref", *ref_deny_, Bounce()),
              exception,
              {},
              kPublishedBounce}}) {
      const Filters& plugged = filters;
      absl::Status s =
          add(orb_.get(), name, expect, budget, published,
              [&](std::unique_ptr<EchoClient> client) -> std::unique_ptr<Contender> {
                return std::make_unique<AtServer>(echo_.get(), plugged, std::move(client));
              });
      if (!s.ok()) return s;
    }
    for (const auto& [name, changes, expect, budget] :
         std::vector<std::tuple<const char*, filters::ChangeSet, EchoClient::Expect, Budget>>{
             {"in the client: disabled", ClientPlug("count", true, false), result, 1.01},
             {"in the client: pass", ClientPlug("count", true, true), result, 1.03},
             {"in the client: bounce", ClientPlug("deny", false, true), exception, 0.05}}) {
      const filters::ChangeSet& plugged = changes;
      absl::Status s = add(filtering_orb_.get(), name, expect, budget, std::nullopt,
                           [&](std::unique_ptr<EchoClient> client) -> std::unique_ptr<Contender> {
                             return std::make_unique<AtClient>(registry_.get(), echo_.get(),
                                                               plugged, std::move(client));
                           });
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }

  const SystemClock clock_;
  NullLogger logger_;
  const Folder folder_;
  filters::FilterKinds kinds_;
  std::unique_ptr<WeirServer> echo_, grpc_count_, grpc_deny_, ref_count_, ref_deny_;
  std::unique_ptr<filters::Registry> registry_;
  std::unique_ptr<orb::Orb> orb_, filtering_orb_;
  std::vector<std::pair<Row, std::unique_ptr<Contender>>> contenders_;
  Report report_;
};

}  // namespace

absl::StatusOr<Report> MeasureFiltered(const InterleaveOptions& options) {
  return Filtered(options).Measure();
}

}  // namespace weir::bench
