#include "tools/bench/groups.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/logger.h"
#include "base/strings.h"
#include "control/service.h"
#include "control/store.h"
#include "filters/builtin/builtin.h"
#include "filters/registry.h"
#include "orb/cdr/byte_buffer.h"
#include "orb/cdr/encoder.h"
#include "orb/core/orb.h"
#include "tools/bench/folder.h"
#include "tools/weir/echo_servant.h"
#include "tools/weir/orb_setup.h"

namespace weir::bench {
namespace {

// Between two commits.
constexpr auto kPause = std::chrono::milliseconds(3);

Times TimesOf(std::vector<Nanos> sample) {
  Times times;
  if (sample.empty()) return times;
  std::sort(sample.begin(), sample.end());
  times.count = sample.size();
  times.median = sample[sample.size() / 2];
  times.p99 = sample[sample.size() * 99 / 100];
  times.worst = sample.back();
  return times;
}

// How groups lie.
class Layout {
 public:
  Layout(bool nested, const GroupsOptions& options) : nested_(nested), options_(options) {}

  std::string Selector(int group) const { return StrCat("key:", Prefix(group), "*"); }
  std::string Key(int object) const {
    return StrCat(Prefix(object % options_.groups), "/", object);
  }
  // How many of the groups an object is in.
  uint64_t GroupsOf(int object) const { return nested_ ? object % options_.groups + 1 : 1; }

 private:
  std::string Prefix(int group) const {
    return nested_ ? std::string(group + 1, 'x') : StrCat("group-", group, ".");
  }

  const bool nested_;
  const GroupsOptions options_;
};

class Call : public orb::Invocation {
  void Done() override {}
};

// Calls objects at random until it is stopped.
class Caller {
 public:
  Caller(const std::vector<std::string>* keys, const Layout* layout, orb::Orb* orb,
         std::shared_ptr<orb::Target> target, const std::atomic<uint64_t>* commits, uint64_t seed)
      : keys_(keys),
        layout_(layout),
        orb_(orb),
        target_(std::move(target)),
        commits_(commits),
        random_(seed),
        thread_([this] { Run(); }) {}
  void Stop() {
    stop_ = true;
    thread_.join();
  }

  std::vector<Nanos> calm, during;
  uint64_t sent = 0, answered = 0, expected = 0;

 private:
  void Run() {
    while (!stop_) {
      const auto object = static_cast<int>(random_() % keys_->size());
      const auto value = static_cast<int32_t>(sent);
      cdr::ByteBuffer arguments;
      cdr::Encoder(&arguments).WriteLong(value);
      orb::Request request;
      request.object_key = (*keys_)[object];
      request.operation = "ping";
      request.body.bytes = arguments.view();
      Call call;
      call.request = &request;
      call.keep_key = true;
      ++sent;
      expected += layout_->GroupsOf(object);
      const uint64_t before = commits_->load();
      const Nanos began = clock_.Now();
      const absl::Status status = orb_->invoker().Invoke(target_, &call);
      const Nanos took = clock_.Now() - began;
      if (status.ok() && call.reply.status == orb::ReplyStatus::kNoException &&
          call.reply.body.decoder().ReadLong() == value + 1) {
        ++answered;
      }
      // Odd: a commit was under way when the call began.
      (before % 2 != 0 || before != commits_->load() ? during : calm).push_back(took);
    }
  }

  const SystemClock clock_;
  const std::vector<std::string>* const keys_;
  const Layout* const layout_;
  orb::Orb* const orb_;
  const std::shared_ptr<orb::Target> target_;
  const std::atomic<uint64_t>* const commits_;
  std::mt19937_64 random_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Groups {
 public:
  explicit Groups(const GroupsOptions& options) : options_(options) {
    filters::AddBuiltinFilters(&kinds_);
  }

  absl::StatusOr<GroupsRow> Measure(bool nested) {
    const Layout layout(nested, options_);
    const Folder folder;
    absl::StatusOr<std::unique_ptr<control::Store>> store =
        control::OpenStore(StrCat("sqlite:", folder.path(), "/store"));
    if (!store.ok()) return store.status();
    filters::Registry registry(&kinds_, &clock_, &logger_);
    control::Service service(&registry, store->get(), &clock_, &logger_, {});

    const auto server = tools::NewOrb({}, &clock_, &logger_, registry.gate());
    const auto client = tools::NewOrb({}, &clock_, &logger_, nullptr);
    for (orb::Orb* const orb : {server.get(), client.get()}) {
      if (absl::Status s = orb->Start(); !s.ok()) return s;
    }
    const auto servant = std::make_shared<tools::EchoServant>();
    std::vector<std::string> keys;
    for (int i = 0; i < options_.objects; ++i) {
      keys.push_back(layout.Key(i));
      if (absl::Status s = server->adapter().Activate(keys.back(), servant); !s.ok()) return s;
    }
    auto listening = server->Listen("giop:tcp:127.0.0.1:0");
    if (!listening.ok()) return listening.status();
    auto target = client->Resolve(StrCat("corbaloc::1.2@", listening->address, "/"));
    if (!target.ok()) return target.status();

    filters::ChangeSet all;
    for (int i = 0; i < options_.groups; ++i) {
      const filters::ChangeSet plug = Plug(StrCat("group-", i), layout.Selector(i));
      all.insert(all.end(), plug.begin(), plug.end());
    }
    if (auto applied = service.Apply(all, {}); !applied.ok()) return applied.status();

    GroupsRow row{.name = nested ? "each group within the one before" : "groups apart"};
    std::atomic<uint64_t> commits{0};
    std::vector<std::unique_ptr<Caller>> callers;
    for (int i = 0; i < options_.callers; ++i) {
      callers.push_back(std::make_unique<Caller>(&keys, &layout, client.get(), *target, &commits,
                                                 options_.seed + i));
    }
    std::vector<Nanos> times;
    absl::Status failed;
    for (int i = 0; i < options_.commits && failed.ok(); ++i) {
      std::this_thread::sleep_for(kPause);
      // A further filter for some group, and away with it.
      const filters::ChangeSet changes =
          i % 2 == 0 ? Plug("more", layout.Selector(i * 7 % options_.groups))
                     : filters::ChangeSet{filters::UnplugChange{"more"}};
      ++commits;
      const Nanos began = clock_.Now();
      failed = service.Apply(changes, {}).status();
      times.push_back(clock_.Now() - began);
      ++commits;
    }
    std::vector<Nanos> calm, during;
    for (const auto& caller : callers) {
      caller->Stop();
      calm.insert(calm.end(), caller->calm.begin(), caller->calm.end());
      during.insert(during.end(), caller->during.begin(), caller->during.end());
      row.sent += caller->sent;
      row.answered += caller->answered;
      row.expected += caller->expected;
    }
    (void)client->Shutdown(clock_.Now() + kSecond);
    (void)server->Shutdown(clock_.Now() + kSecond);
    if (!failed.ok()) return failed;
    for (int i = 0; i < options_.groups; ++i) {
      for (const filters::StepFigures& step : registry.Figures(StrCat("group-", i)).steps) {
        (step.phase == filters::Phase::kUp ? row.ups : row.downs) += step.counts.called();
      }
    }
    row.commits = TimesOf(std::move(times));
    row.calls = TimesOf(std::move(calm));
    row.calls_during_commits = TimesOf(std::move(during));
    return row;
  }

 private:
  static filters::ChangeSet Plug(const std::string& name, const std::string& selector) {
    filters::PlugChange plug;
    plug.name = name;
    plug.filter = "count";
    plug.selector = selector;
    return {plug, filters::MapChange{name, "*", "count", filters::Phase::kUp, true},
            filters::MapChange{name, "*", "count", filters::Phase::kDown, true}};
  }

  const GroupsOptions options_;
  const SystemClock clock_;
  NullLogger logger_;
  filters::FilterKinds kinds_;
};

std::string TimesJson(const Times& times) {
  return absl::StrFormat("{\"count\":%d,\"median_us\":%.1f,\"p99_us\":%.1f,\"worst_us\":%.1f}",
                         times.count, times.median / 1e3, times.p99 / 1e3, times.worst / 1e3);
}

}  // namespace

absl::StatusOr<GroupsReport> MeasureGroups(const GroupsOptions& options) {
  GroupsReport report;
  report.options = options;
  for (const bool nested : {false, true}) {
    absl::StatusOr<GroupsRow> row = Groups(options).Measure(nested);
    if (!row.ok()) return row.status();
    report.rows.push_back(*std::move(row));
  }
  return report;
}

std::string RenderTable(const GroupsReport& report) {
  std::string out = absl::StrFormat("%-34s %-28s %10s %10s %10s %10s\n", "", "", "number", "median",
                                    "p99", "worst");
  for (const GroupsRow& row : report.rows) {
    std::string name = row.name;
    for (const auto& [what, times, unit, scale] :
         {std::tuple{"commit of a plug", &row.commits, "ms", 1e6},
          std::tuple{"call during a commit", &row.calls_during_commits, "us", 1e3},
          std::tuple{"call otherwise", &row.calls, "us", 1e3}}) {
      absl::StrAppendFormat(&out, "%-34s %-28s %10d %7.1f %s %7.1f %s %7.1f %s\n", name, what,
                            times->count, times->median / scale, unit, times->p99 / scale, unit,
                            times->worst / scale, unit);
      name.clear();
    }
  }
  absl::StrAppendFormat(&out,
                        "\n%d objects, %d plugs, each on a group; a commit is one change set, "
                        "stored by SQLite. %d callers,\none call at a time each, over TCP in this "
                        "process.\n",
                        report.options.objects, report.options.groups, report.options.callers);
  for (const GroupsRow& row : report.rows) {
    if (row.answered == row.sent && row.ups == row.expected && row.downs == row.expected) continue;
    absl::StrAppendFormat(&out,
                          "WRONG: %s: of %d calls %d were answered; filters ran %d times up and "
                          "%d down, not %d\n",
                          row.name, row.sent, row.answered, row.ups, row.downs, row.expected);
  }
  return out;
}

std::string RenderJson(const GroupsReport& report) {
  std::string out = absl::StrFormat(
      "{\"objects\":%d,\"groups\":%d,\"callers\":%d,\"seed\":%d,\"rows\":[", report.options.objects,
      report.options.groups, report.options.callers, report.options.seed);
  const char* separator = "";
  for (const GroupsRow& row : report.rows) {
    absl::StrAppendFormat(
        &out,
        "%s{\"name\":\"%s\",\"commits\":%s,\"calls_during_commits\":%s,\"calls\":%s,\"sent\":%d,"
        "\"answered\":%d,\"ups\":%d,\"downs\":%d,\"expected\":%d}",
        separator, row.name, TimesJson(row.commits), TimesJson(row.calls_during_commits),
        TimesJson(row.calls), row.sent, row.answered, row.ups, row.downs, row.expected);
    separator = ",";
  }
  return out + "]}\n";
}

}  // namespace weir::bench
