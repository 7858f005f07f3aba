// What tests ask of the machine: a folder of their own, a free port, the path of a built file.
//
// Thread safety: the functions are safe for concurrent use; a TempDir is not.

#ifndef WEIR_TESTS_SUPPORT_ENVIRONMENT_H_
#define WEIR_TESTS_SUPPORT_ENVIRONMENT_H_

#include <string>
#include <string_view>

namespace weir::testing {

// A new folder directly under /tmp, removed with its content by the destructor. Its path is about
// 16 characters long, because a Unix socket's path may not exceed 107.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;

 private:
  std::string path_;
};

// A TCP port of 127.0.0.1 that nobody listens on now. Only for programs that cannot take port 0,
// and for addresses that must outlive a restart: another process may take it in between.
int FreePort();

// Whether ::1 can be bound.
bool HasIpv6();

// The path of a file built or checked in, named from the workspace
// ("tests/peers/omni_echo_server"). Works in `bazel test`, `bazel run` and for a binary started by
// its path in bazel-bin.
std::string RunfilePath(std::string_view path);

}  // namespace weir::testing

#endif  // WEIR_TESTS_SUPPORT_ENVIRONMENT_H_
