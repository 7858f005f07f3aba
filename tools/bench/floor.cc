#include "tools/bench/floor.h"

#include <memory>
#include <utility>

#include "base/strings.h"
#include "tools/bench/at_server.h"
#include "tools/bench/bare_ping.h"
#include "tools/bench/echo_client.h"
#include "tools/bench/folder.h"
#include "tools/bench/omni_ping.h"
#include "tools/bench/weir_server.h"
#include "tools/weir/orb_setup.h"

namespace weir::bench {
namespace {

constexpr int kFurther = 8;

// The contenders' names.
constexpr const char* kBareTcp = "bare ping-pong, tcp";
constexpr const char* kBareUnix = "bare ping-pong, unix";
constexpr const char* kBareRelay = "bare relay, tcp";
constexpr const char* kOmniTcp = "omniORB direct, tcp";
constexpr const char* kOmniUnix = "omniORB direct, unix";
constexpr const char* kDirectTcp = "Weir direct, tcp";
constexpr const char* kDirectAgain = "Weir direct, tcp, once more";
constexpr const char* kDirectUnix = "Weir direct, unix";
constexpr const char* kDisabled = "filter plugged but disabled";
constexpr const char* kPass = "in-process filter, pass";
constexpr const char* kBounce = "in-process filter, bounce";
constexpr const char* kPassMore = "nine in-process filters, pass";
constexpr const char* kGateway = "through the gateway, tcp";

class Floor {
 public:
  explicit Floor(const FloorOptions& options) : options_(options) {
    report_.options = options.interleave;
  }
  ~Floor() {
    if (orb_ == nullptr) return;
    (void)orb_->Shutdown(clock_.Now() + kSecond);
  }

  absl::StatusOr<Report> Measure() {
    if (absl::Status s = SetUp(); !s.ok()) return s;
    std::vector<Contender*> contenders;
    for (const auto& [name, contender] : contenders_) contenders.push_back(contender.get());
    auto times = Interleave(contenders, options_.interleave);
    if (!times.ok()) return times.status();
    times_ = *std::move(times);
    AddRows();
    return std::move(report_);
  }

 private:
  absl::Status SetUp() {
    if (folder_.path().empty()) return absl::UnavailableError("no folder can be made in /tmp");
    // First of all, as they are copies of this process.
    if (absl::Status s = Add(kBareTcp, NewBarePing("")); !s.ok()) return s;
    if (absl::Status s = Add(kBareUnix, NewBarePing(folder_.path() + "/bare")); !s.ok()) return s;
    if (absl::Status s = Add(kBareRelay, NewBareRelay()); !s.ok()) return s;
    if (absl::Status s = AddOmni(); !s.ok()) return s;

    auto echo = WeirServer::StartEcho(folder_.path());
    if (!echo.ok()) return echo.status();
    echo_ = *std::move(echo);
    auto gateway = WeirServer::StartGateway(echo_->tcp());
    if (!gateway.ok()) return gateway.status();
    gateway_ = *std::move(gateway);
    orb_ = tools::NewOrb({}, &clock_, &logger_, nullptr);
    if (absl::Status s = orb_->Start(); !s.ok()) return s;

    const auto result = EchoClient::Expect::kResult;
    const auto exception = EchoClient::Expect::kSystemException;
    for (const auto& [name, reference, filters, expect] :
         std::initializer_list<std::tuple<const char*, std::string, Filters, EchoClient::Expect>>{
             {kDirectTcp, echo_->tcp(), {}, result},
             {kDirectAgain, echo_->tcp(), {}, result},
             {kDirectUnix, echo_->unix(), {}, result},
             {kDisabled, echo_->tcp(), {"count", 1, true, true, false}, result},
             {kPass, echo_->tcp(), {"count", 1, true, true, true}, result},
             {kPassMore, echo_->tcp(), {"count", 1 + kFurther, true, true, true}, result},
             {kBounce, echo_->tcp(), {"deny", 1, true, false, true}, exception},
             {kGateway, gateway_->tcp(), {}, result}}) {
      auto client = EchoClient::New(orb_.get(), reference);
      if (!client.ok()) return client.status();
      (*client)->set_expect(expect);
      contenders_.emplace_back(
          name, std::make_unique<AtServer>(echo_.get(), filters, *std::move(client)));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const char* name, absl::StatusOr<std::unique_ptr<Contender>> contender) {
    if (!contender.ok()) return contender.status();
    contenders_.emplace_back(name, *std::move(contender));
    return absl::OkStatus();
  }

  absl::Status AddOmni() {
    const absl::StatusOr<std::string> peers = FindOmniPeers(options_.omni_peers);
    if (!peers.ok()) {
      report_.notes.push_back(StrCat("omniORB is left out: ", peers.status().message()));
      return absl::OkStatus();
    }
    if (absl::Status s = Add(kOmniTcp, NewOmniPing(*peers, "")); !s.ok()) return s;
    return Add(kOmniUnix, NewOmniPing(*peers, folder_.path() + "/omni"));
  }

  const std::vector<double>* Times(std::string_view name) const {
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (contenders_[i].first == name) return &times_[i];
    }
    return nullptr;
  }

  // A row unless one of both was left out. `base` may be null.
  void AddRow(const char* name, const char* base, std::optional<double> budget = std::nullopt) {
    const std::vector<double>* const times = Times(name);
    if (times == nullptr) return;
    Row row;
    row.name = name;
    row.nanos = Summarize(*times);
    if (base != nullptr) {
      const std::vector<double>* const bases = Times(base);
      if (bases == nullptr) return;
      row.base = base;
      row.budget = budget;
      std::vector<double> ratios;
      for (size_t i = 0; i < times->size(); ++i) ratios.push_back((*times)[i] / (*bases)[i]);
      row.ratio = Summarize(std::move(ratios));
    }
    report_.rows.push_back(std::move(row));
  }

  void AddRows() {
    AddRow(kBareTcp, nullptr);
    AddRow(kBareUnix, nullptr);
    AddRow(kDirectTcp, kBareTcp, 1.10);
    AddRow(kDirectUnix, kBareUnix, 1.10);
    AddRow(kOmniTcp, kBareTcp);
    AddRow(kOmniUnix, kBareUnix);
    AddRow(kDirectTcp, kOmniTcp);
    AddRow(kDirectUnix, kOmniUnix);
    AddRow(kDirectAgain, kDirectTcp);
    AddRow(kDisabled, kDirectTcp, 1.01);
    AddRow(kPass, kDirectTcp, 1.03);
    AddRow(kBounce, kDirectTcp, 1.00);

    const std::vector<double>& one = *Times(kPass);
    const std::vector<double>& more = *Times(kPassMore);
    std::vector<double> each;
    for (size_t i = 0; i < one.size(); ++i) each.push_back((more[i] - one[i]) / kFurther);
    report_.rows.push_back({"each further in-process filter", Summarize(more), kPass,
                            Summarize(std::move(each)), true, 20});

    AddRow(kBareRelay, kBareTcp);
    AddRow(kGateway, kDirectTcp, 2.1);
    AddRow(kGateway, kBareRelay);
  }

  const FloorOptions options_;
  const SystemClock clock_;
  NullLogger logger_;
  const Folder folder_;
  std::unique_ptr<WeirServer> echo_;
  std::unique_ptr<WeirServer> gateway_;
  std::unique_ptr<orb::Orb> orb_;
  std::vector<std::pair<std::string, std::unique_ptr<Contender>>> contenders_;
  std::vector<std::vector<double>> times_;
  Report report_;
};

}  // namespace

absl::StatusOr<Report> MeasureFloor(const FloorOptions& options) {
  return Floor(options).Measure();
}

}  // namespace weir::bench
