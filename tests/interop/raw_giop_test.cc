// The hand-made GIOP against omniORB: what the other tests blame on Weir must be Weir's.

#include "tests/interop/raw_giop.h"

#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/interop/raw_echo.h"
#include "tests/support/peers.h"

namespace weir::testing {
namespace {

using ::testing::Combine;
using ::testing::Values;

class RawGiop : public ::testing::TestWithParam<std::tuple<int, Order>> {};

TEST_P(RawGiop, TheClientAgreesWithOmniOrb) {
  const Server server = StartOmniServer("tests/peers/omni_echo_server");
  ASSERT_NE(server.process, nullptr);
  auto connection = RawConnection::Tcp(PortOf(server.ior));
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto& [minor, order] = GetParam();
  CheckEcho(connection->get(), "echo", minor, order);
}

TEST_P(RawGiop, TheServerAgreesWithOmniOrb) {
  const auto& [minor, order] = GetParam();
  const RawServer server(EchoHandler(order));
  const Outcome outcome =
      RunProgram("tests/peers/omni_echo_client",
                 {Corbaloc(server.port(), "echo", "1." + std::to_string(minor))});
  EXPECT_TRUE(outcome.ok()) << outcome;
  EXPECT_GT(server.connections(), 0);
}

std::string NameOf(const ::testing::TestParamInfo<RawGiop::ParamType>& test) {
  return "Giop1" + std::to_string(std::get<0>(test.param)) +
         (std::get<1>(test.param) == Order::kBig ? "Big" : "Little");
}

INSTANTIATE_TEST_SUITE_P(VersionsAndOrders, RawGiop,
                         Combine(Values(0, 1, 2), Values(Order::kBig, Order::kLittle)), NameOf);

}  // namespace
}  // namespace weir::testing
