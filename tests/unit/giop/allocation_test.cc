// Steady traffic allocates nothing: every operator new of this test is counted.

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "tests/unit/giop/testing.h"

namespace {
// Only this test's single thread looks at it.
long allocations = 0;
}  // namespace

void* operator new(size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace weir::giop {
namespace {

class Allocations : public testing::TestWithParam<GiopMinor> {};
INSTANTIATE_TEST_SUITE_P(Versions, Allocations, testing::ValuesIn(kAllMinors));

TEST_P(Allocations, DecodingARequestAndEncodingAReplyMakeNone) {
  Peer server(orb::Role::kServer);
  orb::Request request;
  request.minor = GetParam();
  request.object_key = "some key";
  request.operation = "ping";
  request.contexts = {{1, "context one"}, {2, "context two"}};
  request.body.bytes = "\0\0\0\1"sv;
  cdr::ByteBuffer wire;
  ASSERT_TRUE(server.codec->EncodeRequest(1, request, &wire).ok());
  const cdr::BlockRef block = BlockOf(wire.view());
  const std::string_view bytes(reinterpret_cast<const char*>(block->data()), wire.size());
  orb::Reply reply;
  reply.body.bytes = request.body.bytes;
  cdr::ByteBuffer out;

  const auto call = [&] {
    // As the bytes of a slow peer: first not all of them.
    server.codec->Decode(block, bytes.substr(0, 20), &server.in);
    server.codec->Decode(block, bytes, &server.in);
    out.Clear();
    return server.in.kind == Kind::kRequest &&
           server.codec->EncodeReply(server.in.id, GetParam(), reply, &out).ok();
  };
  ASSERT_TRUE(call());
  const long before = allocations;
  bool ok = true;
  for (int i = 0; i < 100; ++i) ok = call() && ok;
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace weir::giop
