// filters/RULES.md: each rule has tests, and all that it names exist.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/environment.h"

namespace weir::filters {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Rule {
  std::string text;
  // File, then "Suite.Name".
  std::vector<std::pair<std::string, std::string>> tests;
};

// The rows of its tables: "| rule | `file.cc` `Suite.Name`, `Suite.Name`; `other.cc` ... |".
std::vector<Rule> Rules() {
  std::vector<Rule> rules;
  std::istringstream lines(Read(testing::RunfilePath("filters/RULES.md")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| rule |")) continue;
    const size_t second = line.find(" | ");
    if (second == std::string::npos) {
      ADD_FAILURE() << "a row without tests: " << line;
      continue;
    }
    Rule rule{line.substr(2, second - 2), {}};
    const std::string tests = line.substr(second);
    const std::regex code("`([^`]+)`");
    std::string file;
    for (std::sregex_iterator it(tests.begin(), tests.end(), code), end; it != end; ++it) {
      const std::string name = (*it)[1];
      if (name.ends_with(".cc")) {
        file = name;
      } else {
        rule.tests.emplace_back(file, name);
      }
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

// "Suite.Name" of all tests in the file of that name, wherever it is.
const std::set<std::string>& TestsIn(const std::string& file) {
  static std::map<std::string, std::set<std::string>> known;
  const auto [it, added] = known.try_emplace(file);
  if (!added) return it->second;
  for (const char* folder : {"tests/control", "tests/faults", "tests/interop", "tests/unit/control",
                             "tests/unit/core", "tests/unit/filters"}) {
    const std::string path = testing::RunfilePath(std::string(folder) + "/" + file);
    if (!std::filesystem::exists(path)) continue;
    const std::string text = Read(path);
    const std::regex test(R"(\nTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
    for (std::sregex_iterator m(text.begin(), text.end(), test), end; m != end; ++m) {
      it->second.insert((*m)[1].str() + "." + (*m)[2].str());
    }
  }
  return it->second;
}

TEST(Rules, EveryTestThatIsNamedExists) {
  for (const Rule& rule : Rules()) {
    for (const auto& [file, name] : rule.tests) {
      EXPECT_TRUE(TestsIn(file).contains(name))
          << file << " has no test " << name << ", of the rule '" << rule.text << "'";
    }
  }
}

TEST(Rules, EveryRuleHasATestAndIsThereOnce) {
  const std::vector<Rule> rules = Rules();
  EXPECT_GT(rules.size(), 50u);
  std::set<std::string> texts;
  for (const Rule& rule : rules) {
    EXPECT_FALSE(rule.tests.empty()) << rule.text;
    EXPECT_TRUE(texts.insert(rule.text).second) << rule.text;
  }
}

}  // namespace
}  // namespace weir::filters
