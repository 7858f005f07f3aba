// weir/InteropTest by omniORB, key "interop".

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "tests/peers/interop.hh"
#include "tests/peers/omni_server.h"

namespace {

using Test = weir::InteropTest;

class InteropServant : public POA_weir::DerivedInteropTest {
 public:
  InteropServant() {
    incarnation_ = std::to_string(getpid()) + "-" +
                   std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  }

  void nothing() override {}

// For types that C++ passes by value.
#define WEIR_EXCHANGE(NAME, TYPE)                \
  TYPE NAME(TYPE a, TYPE& b, TYPE& c) override { \
    c = b;                                       \
    b = a;                                       \
    return a;                                    \
  }
  WEIR_EXCHANGE(exchange_short, CORBA::Short)
  WEIR_EXCHANGE(exchange_ushort, CORBA::UShort)
  WEIR_EXCHANGE(exchange_long, CORBA::Long)
  WEIR_EXCHANGE(exchange_ulong, CORBA::ULong)
  WEIR_EXCHANGE(exchange_longlong, CORBA::LongLong)
  WEIR_EXCHANGE(exchange_ulonglong, CORBA::ULongLong)
  WEIR_EXCHANGE(exchange_float, CORBA::Float)
  WEIR_EXCHANGE(exchange_double, CORBA::Double)
  WEIR_EXCHANGE(exchange_boolean, CORBA::Boolean)
  WEIR_EXCHANGE(exchange_char, CORBA::Char)
  WEIR_EXCHANGE(exchange_octet, CORBA::Octet)
  WEIR_EXCHANGE(exchange_enum, Test::Colour)
  WEIR_EXCHANGE(exchange_wchar, CORBA::WChar)
#undef WEIR_EXCHANGE

  char* exchange_string(const char* a, char*& b, CORBA::String_out c) override {
    c = b;
    b = CORBA::string_dup(a);
    return CORBA::string_dup(a);
  }
  CORBA::WChar* exchange_wstring(const CORBA::WChar* a, CORBA::WChar*& b,
                                 CORBA::WString_out c) override {
    c = b;
    b = CORBA::wstring_dup(a);
    return CORBA::wstring_dup(a);
  }
  Test::Mixed* exchange_struct(const Test::Mixed& a, Test::Mixed& b, Test::Mixed_out c) override {
    c = new Test::Mixed(b);
    b = a;
    return new Test::Mixed(a);
  }
  Test::Choice* exchange_union(const Test::Choice& a, Test::Choice& b,
                               Test::Choice_out c) override {
    c = new Test::Choice(b);
    b = a;
    return new Test::Choice(a);
  }
  CORBA::Any* exchange_any(const CORBA::Any& a, CORBA::Any& b, CORBA::Any_OUT_arg c) override {
    c = new CORBA::Any(b);
    b = a;
    return new CORBA::Any(a);
  }
  CORBA::Object_ptr exchange_object(CORBA::Object_ptr a, CORBA::Object_ptr& b,
                                    CORBA::Object_OUT_arg c) override {
    c = b;
    b = CORBA::Object::_duplicate(a);
    return CORBA::Object::_duplicate(a);
  }

  Test::Octets* bounce_octets(CORBA::Octet, const Test::Octets& data) override {
    return new Test::Octets(data);
  }
  Test::Doubles* bounce_doubles(CORBA::Octet, const Test::Doubles& data) override {
    return new Test::Doubles(data);
  }
  Test::Strings* bounce_strings(CORBA::Octet, const Test::Strings& data) override {
    return new Test::Strings(data);
  }
  Test::MixedList* bounce_structs(CORBA::Octet, const Test::MixedList& data) override {
    return new Test::MixedList(data);
  }

  Test::Octets* make_octets(CORBA::ULong size) override {
    Test::Octets* data = new Test::Octets(size);
    data->length(size);
    for (CORBA::ULong i = 0; i < size; ++i)
      (*data)[i] = static_cast<CORBA::Octet>(i * 31 + i / 256);
    return data;
  }
  CORBA::ULong count_octets(const Test::Octets& data) override {
    for (CORBA::ULong i = 0; i < data.length(); ++i) {
      if (data[i] != static_cast<CORBA::Octet>(i * 31 + i / 256)) return 0xffffffff;
    }
    return data.length();
  }

  void refuse(const char* why, CORBA::Long code) override {
    throw Test::Refused(why, 0xa5, code * 0.5, code);
  }

  void fail(const char* name, CORBA::ULong minor_code, CORBA::ULong completion) override {
    const auto status = static_cast<CORBA::CompletionStatus>(completion);
    const std::string wanted = name;
#define WEIR_THROW_IF_WANTED(NAME) \
  if (wanted == #NAME) throw CORBA::NAME(minor_code, status);
    OMNIORB_FOR_EACH_SYS_EXCEPTION(WEIR_THROW_IF_WANTED)
#undef WEIR_THROW_IF_WANTED
    throw CORBA::BAD_PARAM(0, CORBA::COMPLETED_NO);
  }

  void notify(CORBA::Long amount) override { notified_ += amount; }
  void notify_octets(const Test::Octets& data) override { notified_ += data.length(); }
  CORBA::Long notified() override { return notified_; }

  char* label() override {
    std::lock_guard<std::mutex> lock(mu_);
    return CORBA::string_dup(label_.c_str());
  }
  void label(const char* value) override {
    std::lock_guard<std::mutex> lock(mu_);
    label_ = value;
  }
  char* incarnation() override { return CORBA::string_dup(incarnation_.c_str()); }
  CORBA::ULong sleepers() override { return sleepers_; }

  CORBA::Long sleep(CORBA::ULong milliseconds, CORBA::Long value) override {
    ++sleepers_;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    --sleepers_;
    return value;
  }

  weir::InteropTest_ptr self() override { return _this(); }
  CORBA::Long doubled(CORBA::Long value) override { return value * 2; }

 private:
  std::mutex mu_;
  std::string label_ = "none";
  std::string incarnation_;
  std::atomic<CORBA::Long> notified_ = 0;
  std::atomic<CORBA::ULong> sleepers_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return weir::peers::ServeUntilTerminated(argc, argv, "interop",
                                           [](CORBA::ORB_ptr) { return new InteropServant; });
}
