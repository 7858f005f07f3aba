// Calls a weir/InteropTest object by its omniORB stub or dynamically (CORBA::Request), always the
// same calls, and prints what came of each: so one can be compared with the other.
//
// Command line: REFERENCE static|dynamic|deferred [-ORB options]. Exit code 0, whatever came back.

#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "tests/peers/interop.hh"
#include "tests/peers/omni_client.h"

namespace weir::peers {
namespace {

using Test = weir::InteropTest;

// How the calls are made; each returns the results as text, and throws what was raised.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual std::string Nothing() = 0;
  virtual std::string ExchangeLong(CORBA::Long a, CORBA::Long b) = 0;
  virtual std::string ExchangeShort(CORBA::Short a, CORBA::Short b) = 0;
  virtual std::string Refuse() = 0;
  virtual std::string Fail() = 0;
  virtual std::string Notify(CORBA::Long amount) = 0;
  virtual std::string Label() = 0;
  virtual std::string Doubled(CORBA::Long value) = 0;
  virtual std::string Sleep(CORBA::ULong milliseconds, CORBA::Long value) = 0;
};

template <typename T>
std::string Three(T result, T inout, T out) {
  return std::to_string(result) + " " + std::to_string(inout) + " " + std::to_string(out);
}

class StaticCaller : public Caller {
 public:
  explicit StaticCaller(CORBA::Object_ptr object)
      : test_(weir::DerivedInteropTest::_unchecked_narrow(object)) {}

  std::string Nothing() override { return test_->nothing(), "void"; }
  std::string ExchangeLong(CORBA::Long a, CORBA::Long b) override {
    CORBA::Long inout = b, out = 0;
    const CORBA::Long result = test_->exchange_long(a, inout, out);
    return Three(result, inout, out);
  }
  std::string ExchangeShort(CORBA::Short a, CORBA::Short b) override {
    CORBA::Short inout = b, out = 0;
    const CORBA::Short result = test_->exchange_short(a, inout, out);
    return Three(result, inout, out);
  }
  std::string Refuse() override { return test_->refuse("because", -7), "void"; }
  std::string Fail() override { return test_->fail("NO_RESOURCES", 0x4f4d0003, 2), "void"; }
  std::string Notify(CORBA::Long amount) override { return test_->notify(amount), "sent"; }
  std::string Label() override {
    CORBA::String_var label = test_->label();
    return label.in();
  }
  std::string Doubled(CORBA::Long value) override { return std::to_string(test_->doubled(value)); }
  std::string Sleep(CORBA::ULong milliseconds, CORBA::Long value) override {
    return std::to_string(test_->sleep(milliseconds, value));
  }

 private:
  weir::DerivedInteropTest_var test_;
};

class DynamicCaller : public Caller {
 public:
  DynamicCaller(CORBA::Object_ptr object, bool deferred)
      : object_(CORBA::Object::_duplicate(object)), deferred_(deferred) {}

  std::string Nothing() override {
    const CORBA::Request_var request = New("nothing", CORBA::_tc_void);
    return Invoke(request), "void";
  }
  std::string ExchangeLong(CORBA::Long a, CORBA::Long b) override {
    return Exchange<CORBA::Long>("exchange_long", CORBA::_tc_long, a, b);
  }
  std::string ExchangeShort(CORBA::Short a, CORBA::Short b) override {
    return Exchange<CORBA::Short>("exchange_short", CORBA::_tc_short, a, b);
  }
  std::string Refuse() override {
    const CORBA::Request_var request = New("refuse", CORBA::_tc_void);
    request->add_in_arg() <<= "because";
    request->add_in_arg() <<= CORBA::Long(-7);
    request->exceptions()->add(Test::_tc_Refused);
    return Invoke(request), "void";
  }
  std::string Fail() override {
    const CORBA::Request_var request = New("fail", CORBA::_tc_void);
    request->add_in_arg() <<= "NO_RESOURCES";
    request->add_in_arg() <<= CORBA::ULong(0x4f4d0003);
    request->add_in_arg() <<= CORBA::ULong(2);
    return Invoke(request), "void";
  }
  std::string Notify(CORBA::Long amount) override {
    const CORBA::Request_var request = New("notify", CORBA::_tc_void);
    request->add_in_arg() <<= amount;
    return request->send_oneway(), "sent";
  }
  std::string Label() override {
    const CORBA::Request_var request = New("_get_label", CORBA::_tc_string);
    Invoke(request);
    const char* label = nullptr;
    Expect(request->return_value() >>= label, "the result is no string");
    return label;
  }
  std::string Doubled(CORBA::Long value) override {
    const CORBA::Request_var request = New("doubled", CORBA::_tc_long);
    request->add_in_arg() <<= value;
    Invoke(request);
    return std::to_string(Result<CORBA::Long>(request));
  }
  std::string Sleep(CORBA::ULong milliseconds, CORBA::Long value) override {
    const CORBA::Request_var request = New("sleep", CORBA::_tc_long);
    request->add_in_arg() <<= milliseconds;
    request->add_in_arg() <<= value;
    Invoke(request);
    return std::to_string(Result<CORBA::Long>(request));
  }

 private:
  CORBA::Request_ptr New(const char* operation, CORBA::TypeCode_ptr result) {
    CORBA::Request_ptr request = object_->_request(operation);
    request->set_return_type(result);
    return request;
  }
  void Invoke(CORBA::Request_ptr request) {
    if (deferred_) {
      request->send_deferred();
      request->get_response();
    } else {
      request->invoke();
    }
    CORBA::Exception* const raised = request->env()->exception();
    if (raised == nullptr) return;
    if (CORBA::UnknownUserException* const user = CORBA::UnknownUserException::_downcast(raised)) {
      const Test::Refused* refused = nullptr;
      if (user->exception() >>= refused) throw *refused;
    }
    raised->_raise();
  }
  template <typename T>
  static T Result(CORBA::Request_ptr request) {
    T value{};
    Expect(request->return_value() >>= value, "the result is of another type");
    return value;
  }
  template <typename T>
  std::string Exchange(const char* operation, CORBA::TypeCode_ptr type, T a, T b) {
    const CORBA::Request_var request = New(operation, type);
    request->add_in_arg() <<= a;
    request->add_inout_arg() <<= b;
    request->add_out_arg() <<= T(0);
    Invoke(request);
    T inout{}, out{};
    Expect(*request->arguments()->item(1)->value() >>= inout, "the inout parameter is another");
    Expect(*request->arguments()->item(2)->value() >>= out, "the out parameter is another");
    return Three(Result<T>(request), inout, out);
  }

  CORBA::Object_var object_;
  const bool deferred_;
};

void Print(const char* name, const std::function<std::string()>& call) {
  std::string what;
  try {
    what = call();
  } catch (const Test::Refused& e) {
    what = std::string("Refused ") + e.why.in() + " " + std::to_string(e.code);
  } catch (const CORBA::Exception& e) {
    what = Describe(e);
  }
  std::cout << name << ": " << what << std::endl;
}

int Run(int argc, char** argv) {
  CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
  const std::string how = argc == 3 ? argv[2] : "";
  if (how != "static" && how != "dynamic" && how != "deferred") {
    std::cerr << "usage: " << argv[0] << " REFERENCE static|dynamic|deferred\n";
    return 2;
  }
  CORBA::Object_var object = orb->string_to_object(argv[1]);
  std::unique_ptr<Caller> caller;
  if (how == "static") {
    caller = std::make_unique<StaticCaller>(object);
  } else {
    caller = std::make_unique<DynamicCaller>(object, how == "deferred");
  }
  Print("nothing", [&] { return caller->Nothing(); });
  Print("exchange_long", [&] { return caller->ExchangeLong(7, 9); });
  Print("exchange_short", [&] { return caller->ExchangeShort(7, 9); });
  Print("refuse", [&] { return caller->Refuse(); });
  Print("fail", [&] { return caller->Fail(); });
  Print("notify", [&] { return caller->Notify(3); });
  Print("_get_label", [&] { return caller->Label(); });
  Print("doubled", [&] { return caller->Doubled(21); });
  Print("sleep", [&] { return caller->Sleep(0, 5); });
  caller.reset();
  orb->destroy();
  return 0;
}

}  // namespace
}  // namespace weir::peers

int main(int argc, char** argv) {
  try {
    return weir::peers::Run(argc, argv);
  } catch (const CORBA::Exception& e) {
    std::cerr << weir::peers::Describe(e) << std::endl;
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
  }
  return 1;
}
