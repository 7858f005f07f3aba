// The filter `cache`.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "filters/builtin/reply_cache.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/filters/builtin_fixture.h"

namespace weir::filters {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CacheTest : public BuiltinTest {
 protected:
  void PlugCache(FilterParameters parameters = {}) {
    Plug("cache", std::move(parameters), "lookup", "store");
  }
  // Runs the call with a servant that answers with `answer`; what the caller gets.
  std::string Ask(FakeCall* call, std::string_view answer) {
    call->Run(registry_.gate(), [answer](orb::Call& c) {
      c.NewBody().WriteOctets(answer);
      c.SetResult();
    });
    return std::string(call->reply().body.bytes);
  }
  std::string Ask(const std::string& key, const std::string& operation, std::string_view body,
                  std::string_view answer) {
    FakeCall call(key, operation);
    call.request().body.bytes = body;
    return Ask(&call, answer);
  }
  // Whether the second of two equal calls is answered out of the cache. `prepare` makes both
  // unusual; `servant` answers them.
  template <typename Prepare, typename Servant>
  bool Hits(const Prepare& prepare, const Servant& servant) {
    FakeCall first, second;
    prepare(&first);
    prepare(&second);
    first.Run(registry_.gate(), servant);
    EXPECT_TRUE(first.reached_servant());
    second.Run(registry_.gate(), servant);
    return !second.reached_servant();
  }
};

void AnswerWell(orb::Call& call) {
  call.NewBody().WriteULong(1);
  call.SetResult();
}
void Nothing(FakeCall*) {}

TEST_F(CacheTest, AnEqualRequestIsAnsweredWithoutTheServant) {
  PlugCache();
  EXPECT_EQ(Ask("k", "op", "args", "first"), "first");
  EXPECT_EQ(Ask("k", "op", "args", "second"), "first");
  auto counters = Counters();
  EXPECT_EQ(counters[".hits"], 1u);
  EXPECT_EQ(counters[".misses"], 1u);
  EXPECT_EQ(counters[".stored"], 1u);
  EXPECT_EQ(counters[".evicted"], 0u);
  EXPECT_EQ(counters[".entries"], 1u);
  EXPECT_EQ(counters[".bytes"], 1 + 2 + 4 + 5 + ReplyCache::kOverhead);
  EXPECT_EQ(counters[".bounced"], 1u);
}

TEST_F(CacheTest, ItForgetsWhatItIsToldTo) {
  PlugCache();
  for (const char* key : {"k", "l"}) {
    for (const char* operation : {"op", "other"}) {
      for (const char* body : {"1", "2"}) Ask(key, operation, body, "old");
    }
  }
  const auto told = [this](FilterParameters parameters) {
    const auto text = registry_.Tell("p", "forget", parameters);
    return text.ok() ? *text : std::string(text.status().message());
  };
  clock_.now = clock_.now + 1;
  EXPECT_EQ(told({{"key", "k"}, {"operation", "op"}}), "forgot 2 results");
  clock_.now = clock_.now + 1;
  EXPECT_EQ(Ask("k", "op", "1", "new"), "new");
  EXPECT_EQ(Ask("k", "op", "1", "newer"), "new");
  EXPECT_EQ(Ask("k", "other", "1", "new"), "old");
  EXPECT_EQ(Ask("l", "op", "1", "new"), "old");
  EXPECT_EQ(told({{"operation", "op"}}), "forgot 3 results");
  EXPECT_EQ(told({{"key", "%6b"}}), "forgot 2 results");
  EXPECT_EQ(told({}), "forgot 2 results");
  EXPECT_EQ(Counters()[".entries"], 0u);
  EXPECT_THAT(told({{"colour", "red"}}), HasSubstr("no parameter 'colour'"));
  EXPECT_THAT(told({{"key", "%zz"}}), HasSubstr("%"));
}

TEST_F(CacheTest, WhatWasAskedBeforeItForgotIsNotKept) {
  PlugCache();
  FakeCall call("k", "op");
  call.Run(registry_.gate(), [this](orb::Call& c) {
    c.NewBody().WriteOctets("stale");
    c.SetResult();
    clock_.now = clock_.now + 1;
    EXPECT_TRUE(registry_.Tell("p", "forget", {}).ok());
  });
  clock_.now = clock_.now + 1;
  EXPECT_EQ(Ask("k", "op", "", "fresh"), "fresh");
  EXPECT_EQ(Ask("k", "op", "", "fresher"), "fresh");
}

TEST_F(CacheTest, CallsThatAFilterHasRedirectedAreNeitherKeptNorAnswered) {
  PlugCache();
  Commit({PlugOn("to_l", "key:k", -1), MapUp("to_l", "*", "a")});
  probe_->up = [](const std::string&, std::string_view, orb::Call& call) {
    call.Redirect("l");
    return Verdict::kRedirect;
  };
  EXPECT_EQ(Ask("k", "op", "", "redirected"), "redirected");
  EXPECT_EQ(Counters()[".stored"], 0u);
  EXPECT_EQ(Ask("l", "op", "", "direct"), "direct");
  EXPECT_EQ(Ask("k", "op", "", "redirected"), "redirected");
  EXPECT_EQ(Ask("l", "op", "", "newer"), "direct");
}

TEST_F(CacheTest, WhoeverTellsWhatThereIsNotLearnsWhatThereIs) {
  PlugCache();
  Commit({PlugChange{"d", "deny", {}, "all", 0}});
  EXPECT_EQ(registry_.Tell("nosuch", "forget", {}).status().code(), absl::StatusCode::kNotFound);
  const absl::Status no_command = registry_.Tell("p", "remember", {}).status();
  EXPECT_EQ(no_command.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_command.message()), HasSubstr("it has: forget"));
  EXPECT_THAT(std::string(registry_.Tell("d", "forget", {}).status().message()),
              HasSubstr("it has: none"));
}

TEST_F(CacheTest, EmptyBodiesAreAnsweredToo) {
  PlugCache();
  EXPECT_EQ(Ask("", "", "", ""), "");
  EXPECT_EQ(Ask("", "", "", "second"), "");
  EXPECT_EQ(Counters()[".hits"], 1u);
}

TEST_F(CacheTest, RequestsThatDifferInAnyPartAreTold) {
  PlugCache();
  EXPECT_EQ(Ask("ab", "cd", "ef", "1"), "1");
  EXPECT_EQ(Ask("a", "bcd", "ef", "2"), "2");
  EXPECT_EQ(Ask("abc", "d", "ef", "3"), "3");
  EXPECT_EQ(Ask("ab", "cde", "f", "4"), "4");
  EXPECT_EQ(Ask("ab", "cd", "eg", "5"), "5");
  EXPECT_EQ(Ask("ab", "cd", "e", "6"), "6");
  FakeCall other_order("ab", "cd"), char_set("ab", "cd"), wchar_set("ab", "cd"),
      giop_1_1("ab", "cd");
  other_order.request().body.order = cdr::ByteOrder::kBig;
  char_set.set_code_sets({0x05010001, 0});
  wchar_set.set_code_sets({0, 0x05010001});
  giop_1_1.request().minor = orb::GiopMinor::k1;
  std::string answer = "a";
  for (FakeCall* call : {&other_order, &char_set, &wchar_set, &giop_1_1}) {
    call->request().body.bytes = "ef";
    EXPECT_EQ(Ask(call, answer), answer);
    answer += 'a';
  }
  // All of them are there side by side.
  EXPECT_EQ(Ask(&wchar_set, "x"), "aaa");
  EXPECT_EQ(Ask("ab", "cd", "ef", "x"), "1");
  EXPECT_EQ(Counters()[".entries"], 10u);
}

TEST_F(CacheTest, ContextsAndThePrincipalMakeNoDifference) {
  PlugCache();
  EXPECT_EQ(Ask("k", "op", "", "first"), "first");
  FakeCall call("k", "op");
  call.request().contexts.push_back({15, "identity"});
  call.request().principal = "somebody";
  EXPECT_EQ(Ask(&call, "second"), "first");
}

TEST_F(CacheTest, AnAnswerKeepsByteOrderAndAlignment) {
  PlugCache();
  const auto servant = [](orb::Call& c) {
    c.NewBody().WriteULong(1);
    c.SetResult();
    c.reply().body.order = cdr::ByteOrder::kBig;
    c.reply().body.alignment = 4;
  };
  FakeCall call;
  call.Run(registry_.gate(), servant);
  FakeCall again;
  again.Run(registry_.gate(), servant);
  EXPECT_FALSE(again.reached_servant());
  EXPECT_EQ(again.reply().status, orb::ReplyStatus::kNoException);
  EXPECT_EQ(again.reply().body.order, cdr::ByteOrder::kBig);
  EXPECT_EQ(again.reply().body.alignment, 4);
  EXPECT_EQ(again.reply().body.bytes, std::string_view("\1\0\0\0", 4));
}

TEST_F(CacheTest, AnAnswerIsGoodForItsTimeAndNotANanosecondLonger) {
  PlugCache({{"ttl", "5s"}});
  EXPECT_EQ(Ask("k", "op", "", "first"), "first");
  clock_.now += 5 * kSecond - 1;
  EXPECT_EQ(Ask("k", "op", "", "second"), "first") << "being asked for does not prolong it";
  clock_.now += 1;
  EXPECT_EQ(Ask("k", "op", "", "third"), "third");
  EXPECT_EQ(Ask("k", "op", "", "fourth"), "third");
  EXPECT_EQ(Counters()[".entries"], 1u);
  EXPECT_EQ(Counters()[".evicted"], 0u) << "what is too old is not evicted for want of room";
}

TEST_F(CacheTest, OrdinaryResultsAreKept) {
  PlugCache();
  EXPECT_TRUE(Hits(Nothing, AnswerWell));
}

TEST_F(CacheTest, ExceptionsAndForwardsAreNotKept) {
  PlugCache();
  EXPECT_FALSE(Hits(Nothing, [](orb::Call& c) { c.SetUserException(); }));
  EXPECT_FALSE(Hits(Nothing, [](orb::Call& c) { c.SetSystemException({}); }));
  EXPECT_FALSE(Hits(Nothing, [](orb::Call& c) { c.SetForward(); }));
  EXPECT_EQ(Counters()[".stored"], 0u);
}

TEST_F(CacheTest, RepliesWithContextsAreNotKept) {
  PlugCache();
  EXPECT_FALSE(Hits(Nothing, [](orb::Call& c) {
    AnswerWell(c);
    c.reply().contexts.push_back({4, "data"});
  }));
}

TEST_F(CacheTest, BodiesWhoseLayoutIsUnusualAreNotKept) {
  PlugCache();
  static constexpr uint32_t kOffset = 2;
  EXPECT_FALSE(Hits([](FakeCall* c) { c->request().body.alignment = 4; }, AnswerWell));
  EXPECT_FALSE(Hits([](FakeCall* c) { c->request().body.restarts = {&kOffset, 1}; }, AnswerWell));
  EXPECT_FALSE(Hits(Nothing, [](orb::Call& c) {
    AnswerWell(c);
    c.reply().body.restarts = {&kOffset, 1};
  }));
  EXPECT_EQ(Counters()[".stored"], 0u);
}

TEST_F(CacheTest, OnewaysAlwaysReachTheServant) {
  PlugCache();
  EXPECT_TRUE(Hits(Nothing, AnswerWell));
  FakeCall oneway;
  oneway.request().response_expected = false;
  oneway.Run(registry_.gate());
  EXPECT_TRUE(oneway.reached_servant());
}

TEST_F(CacheTest, LookupAloneKeepsNothingAndStoreAloneAnswersNothing) {
  Plug("cache", {}, "lookup");
  EXPECT_FALSE(Hits(Nothing, AnswerWell));
  Commit({Unplug("p")});
  Plug("cache", {}, "", "store");
  EXPECT_FALSE(Hits(Nothing, AnswerWell));
  EXPECT_EQ(Counters()[".stored"], 1u) << "the second was there already";
}

TEST_F(CacheTest, ThoseAskedForLeastRecentlyGoFirst) {
  PlugCache({{"max_entries", "2"}});
  EXPECT_EQ(Ask("k", "a", "", "1"), "1");
  EXPECT_EQ(Ask("k", "b", "", "1"), "1");
  EXPECT_EQ(Ask("k", "a", "", "2"), "1");
  EXPECT_EQ(Ask("k", "c", "", "1"), "1");  // in place of b
  EXPECT_EQ(Ask("k", "a", "", "2"), "1");
  EXPECT_EQ(Ask("k", "c", "", "2"), "1");
  EXPECT_EQ(Ask("k", "b", "", "2"), "2");
  EXPECT_EQ(Counters()[".entries"], 2u);
  EXPECT_EQ(Counters()[".evicted"], 2u);
}

TEST_F(CacheTest, BytesAreBoundedAndWhatIsTooLargeIsNotKept) {
  PlugCache({{"max_bytes", "1024"}});
  const size_t most = 1024 - ReplyCache::kOverhead - 2;  // beside "k" and the operation
  EXPECT_EQ(Ask("k", "a", "", std::string(most, 'x')).size(), most);
  EXPECT_EQ(Counters()[".bytes"], 1024u);
  EXPECT_EQ(Ask("k", "b", "", std::string(most + 1, 'y')).size(), most + 1);
  EXPECT_EQ(Counters()[".stored"], 1u);
  EXPECT_EQ(Counters()[".entries"], 1u) << "it has pushed nothing out";
  EXPECT_EQ(Ask("k", "c", "", "z"), "z");
  EXPECT_EQ(Counters()[".entries"], 1u);
  EXPECT_EQ(Counters()[".bytes"], ReplyCache::kOverhead + 3u);
  EXPECT_EQ(Counters()[".evicted"], 1u);
}

TEST_F(CacheTest, ALargeCacheKeepsItsLimitsOverAllParts) {
  PlugCache({{"max_entries", "2000"}});
  for (int i = 0; i < 10'000; ++i) Ask("k", "op" + std::to_string(i), "", "x");
  auto counters = Counters();
  EXPECT_LE(counters[".entries"], 2000u);
  EXPECT_GE(counters[".entries"], 1900u) << "the parts are filled evenly";
  EXPECT_EQ(counters[".entries"] + counters[".evicted"], 10'000u);
}

TEST_F(CacheTest, AnAnswerOutlivesItsEviction) {
  PlugCache({{"max_entries", "1"}});
  Ask("k", "a", "", "answer");
  FakeCall call("k", "a");
  EXPECT_EQ(Ask(&call, ""), "answer");
  Ask("k", "b", "", "other");
  Commit({Unplug("p")});
  EXPECT_EQ(call.reply().body.bytes, "answer");
}

TEST_F(CacheTest, UnpluggingAndPluggingAgainEmptiesIt) {
  PlugCache();
  EXPECT_EQ(Ask("k", "op", "", "first"), "first");
  Commit({Unplug("p")});
  PlugCache();
  EXPECT_EQ(Ask("k", "op", "", "second"), "second");
}

TEST_F(CacheTest, ManyThreadsGetTheAnswersToTheirOwnQuestions) {
  PlugCache({{"max_entries", "20"}, {"ttl", "1ms"}});
  std::atomic<int> wrong{0};
  std::atomic<int> hits{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const std::string text = std::to_string((i * 7 + t) % 30);
        FakeCall call("k", "op");
        call.request().body.bytes = text;
        wrong += Ask(&call, text) != text;
        hits += !call.reached_servant();
        if (i % 100 == 0) clock_.now += 300 * kMicrosecond;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  auto counters = Counters();
  EXPECT_EQ(counters[".hits"], static_cast<uint64_t>(hits));
  EXPECT_EQ(counters[".hits"] + counters[".misses"], 20'000u);
  EXPECT_GT(hits, 0);
  EXPECT_GT(counters[".evicted"], 0u);
  EXPECT_LE(counters[".entries"], 20u);
}

TEST_F(CacheTest, BadParametersAreRefused) {
  for (const char* ttl : {"", "0", "0s", "5", "-1s", "24h1ns", "inf", "soon", "999us"}) {
    const absl::Status status = TryPlug("cache", {{"ttl", ttl}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << ttl;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("parameter 'ttl' is '" + std::string(ttl) + "'"),
                      HasSubstr("from 1ms to 24h")));
  }
  EXPECT_THAT(std::string(TryPlug("cache", {{"max_bytes", "1023"}}).message()),
              HasSubstr("from 1024 to 1073741824"));
  EXPECT_THAT(std::string(TryPlug("cache", {{"max_entries", "0"}}).message()),
              HasSubstr("from 1 to 1000000"));
}

}  // namespace
}  // namespace weir::filters
