// What the omniORB clients share: named cases against one reference, an outcome line for each.
//
// Command line: REFERENCE [--interactive] [CASE | -CASE]... [-ORB options]. Without a CASE all run
// but those marked `on_request`, less each -CASE. With --interactive the names of cases come
// from stdin, one a line, over one ORB and its connections. Output, one line a case:
//
//   ok NAME
//   FAIL NAME: what was wrong; a system exception as "NO_PERMISSION 0x4f4d0001 NO"
//
// Thread safety: to be called from main; cases may start threads of their own.

#ifndef WEIR_TESTS_PEERS_OMNI_CLIENT_H_
#define WEIR_TESTS_PEERS_OMNI_CLIENT_H_

#include <omniORB4/CORBA.h>

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::peers {

struct Case {
  std::string name;
  std::function<void()> run;  // throws if it fails
  bool on_request = false;
};

// "NAME 0xMINOR YES|NO|MAYBE", or a user exception's name.
std::string Describe(const CORBA::Exception& e);

// Throws std::runtime_error unless both are equal.
template <typename A, typename B>
void ExpectEqual(const char* what, const A& got, const B& wanted) {
  if (got == wanted) return;
  std::ostringstream text;
  text << what << " is " << got << ", not " << wanted;
  throw std::runtime_error(text.str());
}
void Expect(bool condition, const std::string& otherwise);

// Returns the exit code of main: 0 if every case that ran was ok, 1 if not, 2 for wrong usage.
int RunClient(int argc, char** argv,
              const std::function<std::vector<Case>(CORBA::ORB_ptr, CORBA::Object_ptr)>& make);

}  // namespace weir::peers

#endif  // WEIR_TESTS_PEERS_OMNI_CLIENT_H_
