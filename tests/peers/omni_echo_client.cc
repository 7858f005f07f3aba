// Checks a weir/Echo object as an omniORB client; see omni_client.h for the command line.

#include <memory>
#include <string>

#include "tests/peers/echo.hh"
#include "tests/peers/omni_client.h"

namespace weir::peers {
namespace {

std::vector<Case> Cases(CORBA::ORB_ptr, CORBA::Object_ptr object) {
  weir::Echo_var echo = weir::Echo::_unchecked_narrow(object);
  std::vector<Case> cases;
  const auto add = [&](const char* name, std::function<void()> run) {
    cases.push_back({name, std::move(run)});
  };

  add("narrow", [echo] {
    weir::Echo_var narrowed = weir::Echo::_narrow(echo);
    Expect(!CORBA::is_nil(narrowed), "it is no weir/Echo");
  });
  add("is_a", [echo] {
    Expect(echo->_is_a("IDL:weir/Echo:1.0"), "not its own interface");
    Expect(echo->_is_a("IDL:omg.org/CORBA/Object:1.0"), "not an Object");
    Expect(!echo->_is_a("IDL:weir/Other:1.0"), "claims a foreign interface");
  });
  add("non_existent", [echo] { Expect(!echo->_non_existent(), "claims not to exist"); });
  add("ping", [echo] {
    for (CORBA::Long value : {0, 1, -1, 41, 0x7ffffffe, -2147483647 - 1}) {
      ExpectEqual("the result", echo->ping(value), value + 1);
    }
  });
  add("ping_1000", [echo] {
    for (CORBA::Long i = 0; i < 1000; ++i) ExpectEqual("the result", echo->ping(i), i + 1);
  });
  add("repeat", [echo] {
    for (size_t size : {0, 1, 2, 3, 4, 100, 8192, 100000}) {
      const std::string text(size, 'x');
      CORBA::String_var result = echo->repeat(text.c_str());
      Expect(text == result.in(), "a text of " + std::to_string(size) + " characters differs");
    }
  });
  for (const auto& [name, size] : std::vector<std::pair<const char*, CORBA::ULong>>{
           {"bounce_0", 0}, {"bounce_1", 1}, {"bounce_8k", 8192}, {"bounce_1m", 1 << 20}}) {
    add(name, [echo, size = size] {
      weir::Echo::Octets data(size);
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = static_cast<CORBA::Octet>(i * 31 + i / 256);
      weir::Echo::Octets_var result = echo->bounce(data);
      ExpectEqual("the length", result->length(), size);
      for (CORBA::ULong i = 0; i < size; ++i) {
        if (result[i] != data[i]) Expect(false, "octet " + std::to_string(i) + " differs");
      }
    });
  }
  return cases;
}

}  // namespace
}  // namespace weir::peers

int main(int argc, char** argv) { return weir::peers::RunClient(argc, argv, weir::peers::Cases); }
