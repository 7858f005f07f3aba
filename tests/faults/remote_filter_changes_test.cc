// What remote filters change arrives, in either byte order and GIOP version, if they have declared
// it, and is refused and counted if not; what they answer arrives byte for byte.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/faults/filter_server.h"
#include "tests/faults/numbered_calls.h"
#include "tests/support/environment.h"

namespace weir::testing {
namespace {

using filters::Phase;

struct Case {
  Order caller;
  bool filter_little;
  int minor;
  bool gateway;
};

class RemoteChanges : public ::testing::TestWithParam<Case> {
 protected:
  RemoteChanges() : node_(GetParam().gateway) {
    node_.set_on_call([this](const orb::Call& call) {
      MutexLock lock(&mu_);
      seen_.push_back(
          {std::string(call.request().operation), call.request().body.decoder().ReadULongLong()});
      for (const orb::ServiceContext& c : call.request().contexts) {
        seen_.back().contexts.push_back({c.id, std::string(c.data)});
      }
    });
    script_->describe = [](v1::DescribeResponse* response) {
      for (const v1::Phase phase : {v1::PHASE_UP, v1::PHASE_DOWN}) {
        for (const char* name : {"change", "watch"}) {
          v1::Method* const m = response->add_methods();
          m->set_name(name);
          m->set_phase(phase);
          m->set_reads(v1::READS_BODY);
          m->set_changes(name == std::string("change"));
        }
      }
    };
    script_->judge = [this](const v1::Question& question, const FilterStreamPtr& stream) {
      v1::Answer answer;
      {
        MutexLock lock(&mu_);
        questions_.push_back(question);
        answer = question.phase() == v1::PHASE_UP ? up_answer_ : down_answer_;
      }
      answer.set_ticket(question.ticket());
      stream->Send(answer);
    };
    up_answer_.mutable_pass();
    down_answer_.mutable_pass();
    server_ = std::make_unique<FilterServer>("127.0.0.1:0", script_);
  }

  // The same method both ways.
  void Plug(const std::string& method) {
    node_.Commit({filters::PlugChange{"r", "grpc", {{"at", server_->address()}}, "all", 0},
                  filters::MapChange{"r", "*", method, Phase::kUp, true},
                  filters::MapChange{"r", "*", method, Phase::kDown, true}});
    ASSERT_TRUE(node_.WaitForCounter("connected", 1));
    auto connection = RawConnection::Tcp(node_.port());
    ASSERT_TRUE(connection.ok()) << connection.status();
    connection_ = *std::move(connection);
  }
  v1::Body Number(uint64_t number) const { return NumberBody(number, GetParam().filter_little); }
  v1::Body Bytes(std::string bytes) const {
    v1::Body body;
    body.set_data(std::move(bytes));
    body.set_little_endian(GetParam().filter_little);
    return body;
  }
  RawRequest Request(uint64_t number, const std::string& operation) const {
    RawRequest request = NumberedRequest(1, number, GetParam().caller, operation);
    request.minor = GetParam().minor;
    request.contexts = {{0x4321, "caller's"}};
    return request;
  }
  RawReply Call(uint64_t number, const std::string& operation = "call") {
    auto reply = connection_->Invoke(Request(number, operation));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : RawReply();
  }
  static std::string ContextOf(const std::vector<RawContext>& contexts, uint32_t id) {
    for (const RawContext& c : contexts) {
      if (c.id == id) return c.data;
    }
    return "none";
  }

  struct Seen {
    std::string operation;
    uint64_t number;
    std::vector<RawContext> contexts = {};
  };
  RemoteNode node_;
  const std::shared_ptr<FilterScript> script_ = std::make_shared<FilterScript>();
  v1::Answer up_answer_, down_answer_;  // to be set before a call
  std::unique_ptr<FilterServer> server_;
  std::unique_ptr<RawConnection> connection_;
  Mutex mu_;
  std::vector<Seen> seen_;
  std::vector<v1::Question> questions_;
};

void ChangeAll(const v1::Body& body, v1::Pass* pass) {
  *pass->mutable_body() = body;
  v1::ServiceContext* const context = pass->mutable_contexts()->add_contexts();
  context->set_id(0x9999);
  context->set_data("filter's");
}

TEST_P(RemoteChanges, QuestionsHoldWhatWasSent) {
  Plug("watch");
  Call(6);
  ASSERT_EQ(questions_.size(), 2u);
  const v1::Question& up = questions_[0];
  EXPECT_EQ(up.method(), "watch");
  EXPECT_EQ(up.header().object_key(), "n");
  EXPECT_EQ(up.header().operation(), "call");
  EXPECT_TRUE(up.header().response_expected());
  EXPECT_EQ(NumberIn(up.body()), 6u);
  EXPECT_EQ(up.body().little_endian(), GetParam().caller == Order::kLittle);
  ASSERT_EQ(up.header().contexts_size(), 1);
  EXPECT_EQ(up.header().contexts(0).data(), "caller's");
  const v1::Question& down = questions_[1];
  EXPECT_EQ(down.phase(), v1::PHASE_DOWN);
  EXPECT_EQ(down.header().call_id(), up.header().call_id());
  EXPECT_EQ(down.header().status(), v1::REPLY_STATUS_NO_EXCEPTION);
  EXPECT_EQ(NumberIn(down.body()), 6 * 8 + kServantsResult);
  // In GIOP 1.0 there may be another one, which pads.
  bool found = false;
  for (const auto& c : down.header().contexts()) found = found || c.data() == "servant's";
  EXPECT_TRUE(found) << down.ShortDebugString();
}

TEST_P(RemoteChanges, DeclaredOnesOfTheRequestReachTheServant) {
  Plug("change");
  ChangeAll(Number(77), up_answer_.mutable_pass());
  up_answer_.mutable_pass()->set_operation("user");
  const NumberedReply reply = ReadNumberedReply(Call(6));
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].operation, "user");
  EXPECT_EQ(seen_[0].number, 77u);
  EXPECT_EQ(ContextOf(seen_[0].contexts, 0x9999), "filter's");
  EXPECT_EQ(ContextOf(seen_[0].contexts, 0x4321), "none");
  EXPECT_EQ(reply.kind, NumberedReply::kUser);
  EXPECT_EQ(reply.number, 77u);
  EXPECT_EQ(node_.Counter("refused"), 0u);
}

TEST_P(RemoteChanges, DeclaredOnesOfTheReplyReachTheCaller) {
  Plug("change");
  ChangeAll(Number(99 * 8 + kServantsResult), down_answer_.mutable_pass());
  const NumberedReply reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.kind, NumberedReply::kServants);
  EXPECT_EQ(reply.number, 99u);
  EXPECT_EQ(ContextOf(reply.contexts, 0x9999), "filter's");
  EXPECT_EQ(ContextOf(reply.contexts, 0x1234), "none");
}

TEST_P(RemoteChanges, UndeclaredOnesAreRefusedAndCounted) {
  Plug("watch");
  ChangeAll(Number(77), up_answer_.mutable_pass());
  up_answer_.mutable_pass()->set_operation("user");
  ChangeAll(Number(99), down_answer_.mutable_pass());
  NumberedReply reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.kind, NumberedReply::kServants);
  EXPECT_EQ(reply.number, 6u);
  EXPECT_EQ(ContextOf(reply.contexts, 0x1234), "servant's");
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].operation, "call");
  EXPECT_EQ(ContextOf(seen_[0].contexts, 0x4321), "caller's");
  EXPECT_EQ(node_.Counter("refused"), 2u);

  // A result in place of the servant's reply is a change as well.
  up_answer_.mutable_pass()->Clear();
  *down_answer_.mutable_result() = Number(99);
  reply = ReadNumberedReply(Call(7));
  EXPECT_EQ(reply.kind, NumberedReply::kServants);
  EXPECT_EQ(reply.number, 7u);
  EXPECT_EQ(node_.Counter("refused"), 3u);
  EXPECT_EQ(node_.Counter("policy_taken"), 0u);
}

TEST_P(RemoteChanges, AReplyHasNoOperationToChange) {
  Plug("change");
  down_answer_.mutable_pass()->set_operation("other");
  EXPECT_EQ(ReadNumberedReply(Call(6)).number, 6u);
  EXPECT_EQ(node_.Counter("refused"), 1u);
}

TEST_P(RemoteChanges, BouncesArriveByteForByte) {
  Plug("watch");
  std::string bytes;
  for (int i = 0; i < 1003; ++i) bytes.push_back(static_cast<char>(i * 7));
  for (const size_t size : {0, 1, 7, 8, 1003}) {
    *up_answer_.mutable_result() = Bytes(bytes.substr(0, size));
    RawReply reply = Call(6);
    EXPECT_EQ(reply.status, 0u);
    EXPECT_EQ(reply.body.Rest(), bytes.substr(0, size));
    *up_answer_.mutable_user_exception() = Bytes(bytes.substr(0, size));
    reply = Call(6);
    EXPECT_EQ(reply.status, 1u);
    EXPECT_EQ(reply.body.Rest(), bytes.substr(0, size));
  }
  // The order that the message tells is that of the filter's bytes.
  *up_answer_.mutable_result() = Number(5 * 8 + kFiltersResult);
  const NumberedReply reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.kind, NumberedReply::kFilters);
  EXPECT_EQ(reply.number, 5u);
  EXPECT_TRUE(seen_.empty());
}

TEST_P(RemoteChanges, SystemExceptionsKeepMinorAndCompletion) {
  Plug("watch");
  v1::SystemException* const e = up_answer_.mutable_system_exception();
  e->set_name("NO_RESOURCES");
  e->set_minor(0xabcd1234);
  e->set_completed(v1::SystemException::COMPLETED_NO);
  NumberedReply reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.name, "NO_RESOURCES");
  EXPECT_EQ(reply.minor, 0xabcd1234u);
  EXPECT_EQ(reply.completed, 1u);
  e->set_name("NO_SUCH_THING");
  reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.name, "UNKNOWN");
  EXPECT_TRUE(seen_.empty());
}

TEST_P(RemoteChanges, ACompletionStatusThatIsNotSetIsTrue) {
  Plug("watch");
  down_answer_.mutable_system_exception()->set_name("NO_MEMORY");
  EXPECT_EQ(ReadNumberedReply(Call(6)).completed, 0u) << "YES: the servant has done its work";
  up_answer_.mutable_system_exception()->set_name("NO_MEMORY");
  down_answer_.Clear();
  down_answer_.mutable_pass();
  EXPECT_EQ(ReadNumberedReply(Call(7)).completed, 1u) << "NO";
  // An older filter's YES cannot be told from nothing; a newer one's can.
  up_answer_.mutable_system_exception()->set_completed(v1::SystemException::COMPLETED_YES);
  EXPECT_EQ(ReadNumberedReply(Call(8)).completed, 0u);
}

TEST_P(RemoteChanges, ARedirectOfAReplyIsRefusedAndCounted) {
  Plug("change");
  down_answer_.set_redirect("elsewhere");
  const NumberedReply reply = ReadNumberedReply(Call(6));
  EXPECT_EQ(reply.kind, NumberedReply::kServants);
  EXPECT_EQ(reply.number, 6u);
  EXPECT_EQ(node_.Counter("refused"), 1u);
}

TEST_P(RemoteChanges, ExceptionsAreSeenOnTheWayDownAndReplaced) {
  Plug("change");
  EXPECT_EQ(ReadNumberedReply(Call(6, "user")).kind, NumberedReply::kUser);
  EXPECT_EQ(questions_.back().header().status(), v1::REPLY_STATUS_USER_EXCEPTION);
  const NumberedReply own = ReadNumberedReply(Call(6, "system"));
  EXPECT_EQ(own.name, "BAD_PARAM");
  EXPECT_EQ(own.minor, 5u);
  EXPECT_EQ(questions_.back().header().status(), v1::REPLY_STATUS_SYSTEM_EXCEPTION);

  down_answer_.mutable_system_exception()->set_name("INTERNAL");
  for (const char* operation : {"user", "system", "void", "call"}) {
    EXPECT_EQ(ReadNumberedReply(Call(6, operation)).name, "INTERNAL") << operation;
  }
  *down_answer_.mutable_result() = Number(9 * 8 + kServantsResult);
  for (const char* operation : {"user", "system", "void", "call"}) {
    EXPECT_EQ(ReadNumberedReply(Call(6, operation)).number, 9u) << operation;
  }
  *down_answer_.mutable_user_exception() = Bytes("any bytes");
  for (const char* operation : {"user", "system", "void", "call"}) {
    RawReply reply = Call(6, operation);
    EXPECT_EQ(reply.status, 1u) << operation;
    EXPECT_EQ(reply.body.Rest(), "any bytes") << operation;
  }
  EXPECT_EQ(node_.Counter("refused"), 0u);
}

TEST_P(RemoteChanges, AVoidReplyIsEmptyAndStaysSo) {
  Plug("watch");
  RawReply reply = Call(6, "void");
  EXPECT_EQ(reply.status, 0u);
  EXPECT_EQ(reply.body.left(), 0u);
  EXPECT_EQ(questions_.back().phase(), v1::PHASE_DOWN);
  EXPECT_EQ(questions_.back().body().data(), "");
}

TEST_P(RemoteChanges, AOnewayIsJudgedOnTheWayUpOnly) {
  Plug("change");
  *up_answer_.mutable_pass()->mutable_body() = Number(77);
  for (uint64_t n = 0; n < 20; ++n) {
    RawRequest oneway = Request(n, "call");
    oneway.response_expected = false;
    oneway.id = static_cast<uint32_t>(100 + n);
    ASSERT_TRUE(connection_->Send(Encode(oneway)));
  }
  ASSERT_TRUE(node_.WaitFor([&] {
    MutexLock lock(&mu_);
    return seen_.size() == 20;
  }));
  ASSERT_TRUE(node_.WaitFor([&] { return node_.orb().stats().server.calls_in_progress == 0; }));
  {
    MutexLock lock(&mu_);
    EXPECT_EQ(questions_.size(), 20u);
    EXPECT_FALSE(questions_[0].header().response_expected());
    for (const Seen& seen : seen_) EXPECT_EQ(seen.number, 77u);
  }
  // A bounced one goes nowhere, and nothing comes back.
  up_answer_.mutable_system_exception()->set_name("NO_PERMISSION");
  RawRequest oneway = Request(1, "call");
  oneway.response_expected = false;
  oneway.id = 200;
  ASSERT_TRUE(connection_->Send(Encode(oneway)));
  ASSERT_TRUE(node_.WaitFor([&] {
    MutexLock lock(&mu_);
    return questions_.size() == 21;
  }));
  up_answer_.mutable_pass();
  EXPECT_EQ(ReadNumberedReply(Call(6)).number, 6u) << "the next reply on the connection";
  MutexLock lock(&mu_);
  EXPECT_EQ(seen_.size(), 21u);
}

INSTANTIATE_TEST_SUITE_P(
    , RemoteChanges,
    ::testing::Values(Case{Order::kLittle, true, 2, false}, Case{Order::kLittle, false, 2, true},
                      Case{Order::kBig, true, 2, false}, Case{Order::kBig, false, 0, false},
                      Case{Order::kBig, true, 0, true}, Case{Order::kLittle, false, 1, true}),
    [](const auto& test) {
      const Case& c = test.param;
      return std::string(c.caller == Order::kLittle ? "Little" : "Big") +
             (c.filter_little ? "FilterLittle" : "FilterBig") + "V" + std::to_string(c.minor) +
             (c.gateway ? "Gateway" : "Server");
    });

}  // namespace
}  // namespace weir::testing
