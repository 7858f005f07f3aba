// Times weir/Echo::ping as an omniORB client sees it.
//
// omni_bench_client REFERENCE [-ORB options]: connects and makes one call, prints "ready"; then for
// each line N of stdin makes N calls and prints the elapsed nanoseconds on a line. Ends at the end
// of stdin. So another program can interleave its own batches with these, and callgrind can count
// the instructions of a known number of calls.

#include <chrono>
#include <iostream>

#include "tests/peers/echo.hh"
#include "tests/peers/omni_client.h"

int main(int argc, char** argv) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 2) {
      std::cerr << "usage: " << argv[0] << " REFERENCE\n";
      return 2;
    }
    CORBA::Object_var object = orb->string_to_object(argv[1]);
    weir::Echo_var echo = weir::Echo::_narrow(object);
    if (CORBA::is_nil(echo)) {
      std::cerr << argv[1] << " is no weir/Echo\n";
      return 1;
    }
    if (echo->ping(1) != 2) {
      std::cerr << "ping(1) is not 2\n";
      return 1;
    }
    std::cout << "ready" << std::endl;
    for (long count; std::cin >> count;) {
      const auto begin = std::chrono::steady_clock::now();
      for (long i = 0; i < count; ++i) echo->ping(static_cast<CORBA::Long>(i));
      const auto elapsed = std::chrono::steady_clock::now() - begin;
      std::cout << std::chrono::nanoseconds(elapsed).count() << std::endl;
    }
    orb->destroy();
    return 0;
  } catch (const CORBA::Exception& e) {
    std::cerr << "calling " << (argc > 1 ? argv[1] : "nothing") << ": " << weir::peers::Describe(e)
              << "\n";
  }
  return 1;
}
