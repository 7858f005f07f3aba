// What filters add to a call, without the call: the gate up and down, and the filters in it.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "filters/builtin/builtin.h"
#include "filters/registry.h"
#include "tests/unit/filters/fake_call.h"

namespace weir::filters {
namespace {

// One for the whole process, as benchmarks with several threads share it.
class Fixture {
 public:
  Fixture() { AddBuiltinFilters(&kinds_); }

  void Commit(const ChangeSet& changes) {
    auto prepared = registry_.Prepare(changes, std::nullopt);
    if (!prepared.ok()) {
      std::fprintf(stderr, "%s\n", prepared.status().ToString().c_str());
      std::abort();
    }
    registry_.Publish(*std::move(prepared));
  }
  void PlugCount(const std::string& name, const std::string& selector, bool enable = true) {
    Commit({PlugChange{name, "count", {}, selector, 0},
            MapChange{name, "*", "count", Phase::kUp, enable},
            MapChange{name, "*", "count", Phase::kDown, enable}});
  }
  // Of which `conditions` are asked.
  void PlugCountIf(const std::string& name, std::vector<std::string> conditions) {
    Commit({PlugChange{.name = name,
                       .filter = "count",
                       .parameters = {},
                       .selector = "key:NameService",
                       .conditions = std::move(conditions)},
            MapChange{name, "*", "count", Phase::kUp, true},
            MapChange{name, "*", "count", Phase::kDown, true}});
  }
  void Watch(Tracer::Mode mode) { registry_.tracer()->Extend(mode, Tracer::kMostLease); }
  template <typename SetUp = void (*)(FakeCall*)>
  void Run(
      benchmark::State& state, const SetUp& set_up = [](FakeCall*) {}) {
    FakeCall call("NameService", "resolve");
    set_up(&call);
    for (auto _ : state) {
      call.Run(registry_.gate(), [](orb::Call& c) { benchmark::DoNotOptimize(&c); });
    }
  }

 private:
  FilterKinds kinds_;
  SystemClock clock_;
  NullLogger logger_;
  Registry registry_{&kinds_, &clock_, &logger_};
};

void NothingPlugged(benchmark::State& state) { Fixture().Run(state); }
BENCHMARK(NothingPlugged);

void Disabled(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCount("p", "all", false);
  fixture.Run(state);
}
BENCHMARK(Disabled);

void EnabledElsewhere(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCount("p", "key:another");
  fixture.Run(state);
}
BENCHMARK(EnabledElsewhere);

// The argument is the number of `count` filters, each up and down.
void Counted(benchmark::State& state) {
  Fixture fixture;
  for (int i = 0; i < state.range(0); ++i) {
    fixture.PlugCount("p" + std::to_string(i), "key:NameService");
  }
  fixture.Run(state);
}
BENCHMARK(Counted)->Arg(1)->Arg(2)->Arg(4)->Arg(8);

// As Counted/1, with a condition that holds; the fake call's peer is 10.0.0.7, by TCP.
void CountedIf(benchmark::State& state, const char* condition) {
  Fixture fixture;
  fixture.PlugCountIf("p", {condition});
  fixture.Run(state);
}
BENCHMARK_CAPTURE(CountedIf, Operation, "operation=res*");
BENCHMARK_CAPTURE(CountedIf, Peer, "peer=10.0.0.0/8");
BENCHMARK_CAPTURE(CountedIf, Context, "context!=7");

// Its condition does not hold.
void NotConcerned(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCountIf("p", {"context=7"});
  fixture.Run(state);
}
BENCHMARK(NotConcerned);

// As Counted/1, among so many plugs of the same target that are for other operations: by what they
// map, and by what they ask.
void CountedAmongMapped(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCount("p", "key:NameService");
  ChangeSet changes;
  for (int i = 1; i < state.range(0); ++i) {
    const std::string number = std::to_string(i);
    changes.push_back(PlugChange{"p" + number, "count", {}, "key:NameService", 0});
    changes.push_back(MapChange{"p" + number, "op" + number, "count", Phase::kUp, true});
  }
  fixture.Commit(changes);
  fixture.Run(state);
}
BENCHMARK(CountedAmongMapped)->Arg(1000);
void CountedAmongConditional(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCountIf("p", {"operation=res*"});
  ChangeSet changes;
  for (int i = 1; i < state.range(0); ++i) {
    const std::string number = std::to_string(i);
    changes.push_back(PlugChange{.name = "p" + number,
                                 .filter = "count",
                                 .parameters = {},
                                 .selector = "key:NameService",
                                 .conditions = {"operation=op" + number + "_*"}});
    changes.push_back(MapChange{"p" + number, "*", "count", Phase::kUp, true});
  }
  fixture.Commit(changes);
  fixture.Run(state);
}
BENCHMARK(CountedAmongConditional)->Arg(1000);

void CountedByPrefix(benchmark::State& state) {
  Fixture fixture;
  fixture.PlugCount("p", "key:Name*");
  fixture.Run(state);
}
BENCHMARK(CountedByPrefix);

// Of an object that is of the interface, or not; a servant's has no key, a gateway's has.
void CountedByInterface(benchmark::State& state, bool is_a, const char* key) {
  Fixture fixture;
  fixture.PlugCount("p", "interface:IDL:acme/Bank:1.0");
  fixture.Run(state, [&](FakeCall* call) {
    call->object = {1, 0, key};
    call->is_a = [is_a](std::string_view) { return is_a; };
  });
}
BENCHMARK_CAPTURE(CountedByInterface, Servant, true, "");
BENCHMARK_CAPTURE(CountedByInterface, Gateway, true, "NameService");
BENCHMARK_CAPTURE(CountedByInterface, OtherInterface, false, "NameService");

void CountedByThreads(benchmark::State& state) {
  static Fixture* fixture = [] {
    auto* made = new Fixture;
    made->PlugCount("p", "key:NameService");
    return made;
  }();
  fixture->Run(state);
}
BENCHMARK(CountedByThreads)->Threads(1)->Threads(2);

void Denied(benchmark::State& state) {
  Fixture fixture;
  fixture.Commit(
      {PlugChange{"d", "deny", {}, "all", 0}, MapChange{"d", "*", "deny", Phase::kUp, true}});
  fixture.Run(state);
}
BENCHMARK(Denied);

void Logged(benchmark::State& state) {
  Fixture fixture;
  fixture.Commit({PlugChange{"l", "log", {}, "all", 0},
                  MapChange{"l", "*", "request", Phase::kUp, true},
                  MapChange{"l", "*", "reply", Phase::kDown, true}});
  fixture.Run(state);
}
BENCHMARK(Logged);

// The same as Counted, while somebody has filters timed, and while calls are recorded.
void Watched(benchmark::State& state, Tracer::Mode mode) {
  Fixture fixture;
  for (int i = 0; i < state.range(0); ++i) {
    fixture.PlugCount("p" + std::to_string(i), "key:NameService");
  }
  fixture.Watch(mode);
  fixture.Run(state);
}
BENCHMARK_CAPTURE(Watched, Timed, Tracer::kTiming)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Watched, Recorded, Tracer::kRecording)->Arg(1)->Arg(8);

// One beta message to a registry of many plugs.
void Commit(benchmark::State& state) {
  Fixture fixture;
  for (int i = 0; i < state.range(0); ++i) {
    fixture.PlugCount("p" + std::to_string(i), "key:k" + std::to_string(i));
  }
  bool enable = false;
  for (auto _ : state) {
    fixture.Commit({EnableChange{"p0", "*", "count", Phase::kUp, enable}});
    enable = !enable;
  }
}
BENCHMARK(Commit)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);

// A group plug comes and goes among a thousand: `apart`, each on its own group of objects;
// `nested`, each on a part of the group before; `same`, all on one.
enum class Groups { kApart, kNested, kSame };
void GroupCommit(benchmark::State& state, Groups groups) {
  Fixture fixture;
  const auto selector = [&](int i) -> std::string {
    switch (groups) {
      case Groups::kApart:
        return "key:group-" + std::to_string(i) + "/*";
      case Groups::kNested:
        return "key:" + std::string(static_cast<size_t>(i), 'x') + "*";
      case Groups::kSame:
        break;
    }
    return "key:group/*";
  };
  ChangeSet changes;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "p" + std::to_string(i);
    changes.push_back(PlugChange{name, "count", {}, selector(i), 0});
    changes.push_back(MapChange{name, "*", "count", Phase::kUp, true});
    changes.push_back(MapChange{name, "*", "count", Phase::kDown, true});
  }
  fixture.Commit(changes);
  bool plugged = false;
  for (auto _ : state) {
    if (plugged) {
      fixture.Commit({UnplugChange{"q"}});
    } else {
      fixture.PlugCount("q", selector(1000));
    }
    plugged = !plugged;
  }
}
BENCHMARK_CAPTURE(GroupCommit, Apart, Groups::kApart)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GroupCommit, Nested, Groups::kNested)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GroupCommit, Same, Groups::kSame)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::filters

BENCHMARK_MAIN();
