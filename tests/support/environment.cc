#include "tests/support/environment.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weir::testing {

TempDir::TempDir() {
  char path[] = "/tmp/weir-XXXXXX";
  if (mkdtemp(path) == nullptr) {
    perror("mkdtemp /tmp/weir-XXXXXX");
    abort();
  }
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::File(std::string_view name) const { return path_ + "/" + std::string(name); }

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    perror("finding a free port");
    abort();
  }
  close(fd);
  return ntohs(address.sin_port);
}

bool HasIpv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool bound =
      fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (fd >= 0) close(fd);
  return bound;
}

std::string RunfilePath(std::string_view path) {
  std::vector<std::string> roots;
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    if (const char* value = getenv(variable)) roots.push_back(std::string(value) + "/weir");
  }
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (!error) roots.push_back(self + ".runfiles/weir");
  for (const std::string& root : roots) {
    std::string candidate = root + "/" + std::string(path);
    if (access(candidate.c_str(), F_OK) == 0) return candidate;
  }
  // Relative to the workspace, as in `bazel run` and in error messages.
  return std::string(path);
}

}  // namespace weir::testing
