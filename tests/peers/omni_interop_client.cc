// Checks a weir/InteropTest object as an omniORB client; see omni_client.h for the command line.
//
// The cases "wchar" and "wstring" need GIOP 1.2 from end to end.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "tests/peers/interop.hh"
#include "tests/peers/omni_client.h"

namespace weir::peers {
namespace {

using Test = weir::InteropTest;
using Stub = weir::_objref_InteropTest;

CORBA::Octet Pattern(CORBA::ULong i) { return static_cast<CORBA::Octet>(i * 31 + i / 256); }

Test::Octets MakeOctets(CORBA::ULong size) {
  Test::Octets data(size);
  data.length(size);
  for (CORBA::ULong i = 0; i < size; ++i) data[i] = Pattern(i);
  return data;
}

void CheckOctets(const Test::Octets& data, CORBA::ULong size) {
  ExpectEqual("the length", data.length(), size);
  for (CORBA::ULong i = 0; i < size; ++i) {
    if (data[i] == Pattern(i)) continue;
    Expect(false, "octet " + std::to_string(i) + " of " + std::to_string(size) + " differs");
  }
}

// Calls `method` with `first` and `second` and checks all three values that come back.
template <typename T, typename Method>
void Exchange(weir::InteropTest_ptr test, Method method, T first, T second) {
  T inout = second;
  T out{};
  const T result = (test->*method)(first, inout, out);
  Expect(result == first, "the result differs");
  Expect(inout == first, "the inout parameter differs");
  Expect(out == second, "the out parameter differs");
}

Test::Mixed MakeMixed(int i) {
  Test::Mixed m;
  m.tag = static_cast<CORBA::Octet>(i);
  m.weight = i * 1.25;
  m.flag = i % 2;
  m.count = i * 10000000019LL;
  m.letter = static_cast<char>('a' + i % 26);
  m.level = static_cast<CORBA::Short>(-i);
  m.name = CORBA::string_dup(std::string(i % 11, 'n').c_str());
  m.tail = static_cast<CORBA::Octet>(255 - i % 256);
  return m;
}

void CheckMixed(const Test::Mixed& m, int i) {
  const Test::Mixed wanted = MakeMixed(i);
  const bool equal = m.tag == wanted.tag && m.weight == wanted.weight && m.flag == wanted.flag &&
                     m.count == wanted.count && m.letter == wanted.letter &&
                     m.level == wanted.level && strcmp(m.name, wanted.name) == 0 &&
                     m.tail == wanted.tail;
  if (!equal) Expect(false, "struct " + std::to_string(i) + " differs");
}

// What `call` throws; an empty text if nothing.
std::string ExceptionOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const CORBA::Exception& e) {
    return Describe(e);
  }
  return "";
}

void AddTypes(weir::InteropTest_var test, std::vector<Case>* cases) {
  const auto add = [&](const char* name, std::function<void()> run) {
    cases->push_back({name, std::move(run)});
  };
  add("nothing", [test] { test->nothing(); });
  add("integers", [test] {
    Exchange<CORBA::Short>(test, &Stub::exchange_short, -32768, 32767);
    Exchange<CORBA::UShort>(test, &Stub::exchange_ushort, 0, 65535);
    Exchange<CORBA::Long>(test, &Stub::exchange_long, -2147483647 - 1, 2147483647);
    Exchange<CORBA::ULong>(test, &Stub::exchange_ulong, 0x01020304, 0xfffefdfc);
    Exchange<CORBA::LongLong>(test, &Stub::exchange_longlong, -0x0102030405060708LL, 1);
    Exchange<CORBA::ULongLong>(test, &Stub::exchange_ulonglong, 0xfffefdfcfbfaf9f8ULL, 2);
    Exchange<CORBA::Octet>(test, &Stub::exchange_octet, 0, 255);
  });
  add("floats", [test] {
    Exchange<CORBA::Float>(test, &Stub::exchange_float, -1.5f, 3.25e30f);
    Exchange<CORBA::Double>(test, &Stub::exchange_double, -1.5e-300, 3.25e300);
  });
  add("boolean_char_enum", [test] {
    Exchange<CORBA::Boolean>(test, &Stub::exchange_boolean, true, false);
    Exchange<CORBA::Char>(test, &Stub::exchange_char, 'a', '\xe4');
    Exchange<Test::Colour>(test, &Stub::exchange_enum, Test::BLUE, Test::GREEN);
  });
  add("string", [test] {
    for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
             {"", "x"}, {"hello", ""}, {"\xe4", "ab"}}) {
      CORBA::String_var inout = CORBA::string_dup(second.c_str()), out;
      CORBA::String_var result = test->exchange_string(first.c_str(), inout.inout(), out.out());
      Expect(result.in() == first && inout.in() == first && out.in() == second, "it differs");
    }
  });
  add("struct", [test] {
    Test::Mixed inout = MakeMixed(8);
    Test::Mixed_var out, result = test->exchange_struct(MakeMixed(7), inout, out.out());
    CheckMixed(result, 7);
    CheckMixed(inout, 7);
    CheckMixed(out, 8);
  });
  add("union", [test] {
    Test::Choice first, inout;
    first.number(2.5);
    inout.text("two");
    Test::Choice_var out, result = test->exchange_union(first, inout, out.out());
    Expect(result->_d() == 2 && result->number() == 2.5, "the result differs");
    Expect(inout._d() == 2 && inout.number() == 2.5, "the inout parameter differs");
    Expect(out->_d() == 1 && strcmp(out->text(), "two") == 0, "the out parameter differs");
  });
  add("any", [test] {
    CORBA::Any first, inout;
    first <<= MakeMixed(3);
    inout <<= CORBA::Double(1.5);
    CORBA::Any_var out, result = test->exchange_any(first, inout, out.out());
    const Test::Mixed* mixed = nullptr;
    Expect(result.in() >>= mixed, "the result is no Mixed");
    CheckMixed(*mixed, 3);
    Expect(inout >>= mixed, "the inout parameter is no Mixed");
    CheckMixed(*mixed, 3);
    CORBA::Double number = 0;
    Expect((out.in() >>= number) && number == 1.5, "the out parameter differs");
  });
  add("object", [test] {
    CORBA::Object_var inout, out;
    CORBA::Object_var result = test->exchange_object(test, inout.inout(), out.out());
    Expect(CORBA::is_nil(out), "the nil reference came back as something");
    weir::InteropTest_var back = weir::InteropTest::_narrow(result);
    Expect(!CORBA::is_nil(back), "the result is no InteropTest");
    back->nothing();
  });
  add("wchar", [test] { Exchange<CORBA::WChar>(test, &Stub::exchange_wchar, L'\x20ac', L'x'); });
  add("wstring", [test] {
    for (const auto& [first, second] : std::vector<std::pair<std::wstring, std::wstring>>{
             {L"", L"x"},
             {L"\x20ac\x00e4", L""},
             {L"\xfeff odd start", std::wstring(9000, L'w')}}) {
      CORBA::WString_var inout = CORBA::wstring_dup(second.c_str()), out;
      CORBA::WString_var result = test->exchange_wstring(first.c_str(), inout.inout(), out.out());
      Expect(result.in() == first && inout.in() == first && out.in() == second, "it differs");
    }
  });
}

void AddBodies(weir::InteropTest_var test, std::vector<Case>* cases) {
  const auto add = [&](std::string name, std::function<void()> run) {
    cases->push_back({std::move(name), std::move(run)});
  };
  for (const auto& [suffix, size] : std::vector<std::pair<std::string, CORBA::ULong>>{
           {"0", 0}, {"1", 1}, {"8k", 8192}, {"1m", 1 << 20}}) {
    add("request_" + suffix, [test, size = size] {
      ExpectEqual("the count", test->count_octets(MakeOctets(size)), size);
    });
    add("reply_" + suffix, [test, size = size] {
      Test::Octets_var data = test->make_octets(size);
      CheckOctets(data, size);
    });
    add("both_" + suffix, [test, size = size] {
      Test::Octets_var data = test->bounce_octets(1, MakeOctets(size));
      CheckOctets(data, size);
    });
  }
  // omniORB sends a fragment when its 8 KiB buffer is full: pass over that edge octet by octet.
  add("fragment_edge", [test] {
    for (CORBA::ULong size = 8080; size < 8240; ++size) {
      Test::Octets_var data = test->bounce_octets(1, MakeOctets(size));
      CheckOctets(data, size);
    }
  });
  // Values of 8 octets must not lose their alignment between fragments.
  add("doubles", [test] {
    for (CORBA::ULong size : {0, 1, 2, 1000, 1015, 1016, 1017, 1018, 1019, 1020, 1021, 1022, 1023,
                              1024, 1025, 5000, 100000}) {
      Test::Doubles data(size);
      data.length(size);
      for (CORBA::ULong i = 0; i < size; ++i) data[i] = i * 0.5;
      Test::Doubles_var result = test->bounce_doubles(1, data);
      ExpectEqual("the length", result->length(), size);
      for (CORBA::ULong i = 0; i < size; ++i) {
        if (result[i] != i * 0.5) Expect(false, "double " + std::to_string(i) + " differs");
      }
    }
  });
  add("strings", [test] {
    Test::Strings data(3000);
    data.length(3000);
    for (int i = 0; i < 3000; ++i) data[i] = std::string(i % 17, 's').c_str();
    Test::Strings_var result = test->bounce_strings(1, data);
    ExpectEqual("the length", result->length(), 3000u);
    for (int i = 0; i < 3000; ++i) {
      ExpectEqual("the size of a string", strlen(result[i]), static_cast<size_t>(i % 17));
    }
  });
  add("structs", [test] {
    Test::MixedList data(3000);
    data.length(3000);
    for (int i = 0; i < 3000; ++i) data[i] = MakeMixed(i);
    Test::MixedList_var result = test->bounce_structs(1, data);
    ExpectEqual("the length", result->length(), 3000u);
    for (int i = 0; i < 3000; ++i) CheckMixed(result[i], i);
  });
}

void AddExceptions(weir::InteropTest_var test, std::vector<Case>* cases) {
  const auto add = [&](const char* name, std::function<void()> run) {
    cases->push_back({name, std::move(run)});
  };
  add("user_exception", [test] {
    for (const std::string& why :
         {std::string(), std::string("because"), std::string(20000, 'y')}) {
      try {
        test->refuse(why.c_str(), -7);
        throw std::runtime_error("no exception came");
      } catch (const Test::Refused& e) {
        Expect(e.why.in() == why && e.tag == 0xa5 && e.amount == -3.5 && e.code == -7,
               "its members differ");
      }
    }
  });
  add("system_exceptions", [test] {
    const char* const completions[] = {"YES", "NO", "MAYBE"};
    for (const char* name : {"NO_PERMISSION", "UNKNOWN", "BAD_PARAM", "IMP_LIMIT", "INTERNAL",
                             "NO_RESOURCES", "BAD_INV_ORDER", "TIMEOUT", "DATA_CONVERSION"}) {
      for (CORBA::ULong completion = 0; completion < 3; ++completion) {
        const std::string got = ExceptionOf([&] { test->fail(name, 0x4f4d0003, completion); });
        ExpectEqual("the exception", got,
                    std::string(name) + " 0x4f4d0003 " + completions[completion]);
      }
    }
  });
  add("unknown_operation", [test] {
    const std::string got = ExceptionOf([&] {
      CORBA::Request_var request = test->_request("no_such_operation");
      request->set_return_type(CORBA::_tc_void);
      request->invoke();
      if (request->env()->exception() != nullptr) request->env()->exception()->_raise();
    });
    Expect(got.rfind("BAD_OPERATION", 0) == 0, "the exception is \"" + got + "\"");
  });
  cases->push_back({"missing_object",
                    [test] {
                      const std::string got = ExceptionOf([&] { test->nothing(); });
                      Expect(got.rfind("OBJECT_NOT_EXIST", 0) == 0, "got \"" + got + "\"");
                      Expect(test->_non_existent(), "it claims to exist");
                    },
                    true});
}

void AddCalls(weir::InteropTest_var test, std::vector<Case>* cases) {
  const auto add = [&](const char* name, std::function<void()> run, bool on_request = false) {
    cases->push_back({name, std::move(run), on_request});
  };
  add("is_a", [test] {
    Expect(test->_is_a("IDL:weir/InteropTest:1.0"), "not its interface");
    Expect(test->_is_a("IDL:weir/DerivedInteropTest:1.0"), "not its derived interface");
    Expect(!test->_is_a("IDL:weir/Echo:1.0"), "claims a foreign interface");
    Expect(!test->_non_existent(), "claims not to exist");
  });
  add("narrow", [test] {
    weir::DerivedInteropTest_var derived = weir::DerivedInteropTest::_narrow(test);
    Expect(!CORBA::is_nil(derived), "it is no DerivedInteropTest");
    ExpectEqual("twice 21", derived->doubled(21), 42);
  });
  add("self", [test] {
    weir::InteropTest_var self = test->self();
    ExpectEqual("the result", self->sleep(0, 5), 5);
  });
  add("attribute", [test] {
    test->label("a new label");
    CORBA::String_var label = test->label();
    Expect(strcmp(label, "a new label") == 0, "it differs");
  });
  // A oneway may arrive after the next call: omniORB serves a connection's calls on many threads.
  add("oneway", [test] {
    const CORBA::Long before = test->notified();
    for (int i = 0; i < 10; ++i) test->notify(i);
    test->notify_octets(MakeOctets(100000));
    for (int tries = 0; test->notified() - before != 100045; ++tries) {
      Expect(tries < 500, "only " + std::to_string(test->notified() - before) + " have come");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  add("parallel", [test] {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        try {
          for (int i = 0; i < 30; ++i) {
            const CORBA::ULong size = (t * 7919 + i * 104729) % 60000;
            Test::Octets_var data = test->bounce_octets(1, MakeOctets(size));
            CheckOctets(data, size);
            if (test->sleep(i % 3, t) != t) ++wrong;
          }
        } catch (...) {
          ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectEqual("the number of failures", wrong.load(), 0);
  });
  add(
      "wait_for_sleeper",
      [test] {
        for (int tries = 0; test->sleepers() == 0; ++tries) {
          Expect(tries < 500, "no call of sleep has come");
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      },
      true);
  add(
      "sleep_3s", [test] { ExpectEqual("the result", test->sleep(3000, 7), 7); }, true);
}

std::vector<Case> Cases(CORBA::ORB_ptr, CORBA::Object_ptr object) {
  weir::InteropTest_var test = weir::InteropTest::_unchecked_narrow(object);
  std::vector<Case> cases;
  AddTypes(test, &cases);
  AddBodies(test, &cases);
  AddExceptions(test, &cases);
  AddCalls(test, &cases);
  return cases;
}

}  // namespace
}  // namespace weir::peers

int main(int argc, char** argv) { return weir::peers::RunClient(argc, argv, weir::peers::Cases); }
