#include "tests/peers/omni_client.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace weir::peers {
namespace {

bool RunCase(const Case& c) {
  std::string why;
  try {
    c.run();
    std::cout << "ok " << c.name << std::endl;
    return true;
  } catch (const CORBA::Exception& e) {
    why = Describe(e);
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::cout << "FAIL " << c.name << ": " << why << std::endl;
  return false;
}

bool RunNamed(const std::vector<Case>& cases, const std::string& name) {
  for (const Case& c : cases) {
    if (c.name == name) return RunCase(c);
  }
  std::cout << "FAIL " << name << ": no such case" << std::endl;
  return false;
}

}  // namespace

std::string Describe(const CORBA::Exception& e) {
  const CORBA::SystemException* system = CORBA::SystemException::_downcast(&e);
  if (system == nullptr) return e._name();
  const char* const completions[] = {"YES", "NO", "MAYBE"};
  std::ostringstream text;
  text << e._name() << " 0x" << std::hex << std::setw(8) << std::setfill('0') << system->minor()
       << " " << completions[std::min(2, static_cast<int>(system->completed()))];
  return text.str();
}

void Expect(bool condition, const std::string& otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

int RunClient(int argc, char** argv,
              const std::function<std::vector<Case>(CORBA::ORB_ptr, CORBA::Object_ptr)>& make) {
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc < 2) {
      std::cerr << "usage: " << argv[0] << " REFERENCE [--interactive] [CASE | -CASE]...\n";
      return 2;
    }
    CORBA::Object_var object = orb->string_to_object(argv[1]);
    const std::vector<Case> cases = make(orb, object);
    bool interactive = false;
    std::vector<std::string> wanted, unwanted;
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--interactive") {
        interactive = true;
      } else if (argument[0] == '-') {
        unwanted.push_back(argument.substr(1));
      } else {
        wanted.push_back(argument);
      }
    }
    bool all_ok = true;
    if (interactive) {
      std::cout << "ready" << std::endl;
      for (std::string name; std::getline(std::cin, name);) all_ok &= RunNamed(cases, name);
    } else if (!wanted.empty()) {
      for (const std::string& name : wanted) all_ok &= RunNamed(cases, name);
    } else {
      for (const Case& c : cases) {
        if (c.on_request || std::count(unwanted.begin(), unwanted.end(), c.name) > 0) continue;
        all_ok &= RunCase(c);
      }
    }
    orb->destroy();
    return all_ok ? 0 : 1;
  } catch (const CORBA::Exception& e) {
    std::cout << "FAIL start: " << Describe(e) << std::endl;
  } catch (const omniORB::fatalException& e) {
    std::cout << "FAIL start: " << e.errmsg() << std::endl;
  }
  return 1;
}

}  // namespace weir::peers
