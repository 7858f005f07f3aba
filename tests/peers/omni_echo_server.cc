// weir/Echo by omniORB, key "echo": a real peer for the tests, and the yardstick of the benches.

#include "tests/peers/echo.hh"
#include "tests/peers/omni_server.h"

namespace {

class EchoServant : public POA_weir::Echo {
 public:
  // Unsigned, so that the largest value wraps round.
  CORBA::Long ping(CORBA::Long value) override {
    return static_cast<CORBA::Long>(static_cast<CORBA::ULong>(value) + 1);
  }
  char* repeat(const char* text) override { return CORBA::string_dup(text); }
  weir::Echo::Octets* bounce(const weir::Echo::Octets& data) override {
    return new weir::Echo::Octets(data);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return weir::peers::ServeUntilTerminated(argc, argv, "echo",
                                           [](CORBA::ORB_ptr) { return new EchoServant; });
}
