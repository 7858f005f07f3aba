#include "tools/bench/omni_ping.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/strings.h"
#include "tools/bench/child.h"

namespace weir::bench {
namespace {

constexpr const char* kServer = "/omni_echo_server";
constexpr const char* kClient = "/omni_bench_client";
constexpr Nanos kTimeout = 60 * kSecond;

class OmniPing : public Contender {
 public:
  OmniPing(std::unique_ptr<Child> server, std::unique_ptr<Child> client)
      : server_(std::move(server)), client_(std::move(client)) {}

  absl::StatusOr<Nanos> Run(int calls) override {
    if (absl::Status s = client_->WriteLine(StrCat(calls)); !s.ok()) return s;
    absl::StatusOr<std::string> line = client_->ReadLine(kTimeout);
    if (!line.ok()) return line.status();
    int64_t elapsed = 0;
    if (!absl::SimpleAtoi(*line, &elapsed)) {
      return absl::DataLossError(StrCat("omni_bench_client printed no time: ", *line));
    }
    return elapsed;
  }

 private:
  const std::unique_ptr<Child> server_;
  const std::unique_ptr<Child> client_;
};

}  // namespace

absl::StatusOr<std::string> FindOmniPeers(const std::string& hint) {
  std::vector<std::string> folders;
  if (!hint.empty()) {
    folders.push_back(hint);
  } else {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    // `bazel-bin/tools/weir/weir`, and its tree of runfiles.
    folders.push_back(self.parent_path() / "../../tests/peers");
    folders.push_back(self.string() + ".runfiles/weir/tests/peers");
    if (const char* runfiles = getenv("RUNFILES_DIR")) {
      folders.push_back(StrCat(runfiles, "/weir/tests/peers"));
    }
  }
  for (const std::string& folder : folders) {
    if (access((folder + kServer).c_str(), X_OK) == 0 &&
        access((folder + kClient).c_str(), X_OK) == 0) {
      return std::filesystem::path(folder).lexically_normal().string();
    }
  }
  return absl::NotFoundError(StrCat(
      "omni_echo_server and omni_bench_client are not in ", folders.front(),
      "; `bazel build --config=opt //tools:weir //tools:bench_peers` puts them where they are "
      "found, --omni-peers names another folder"));
}

absl::StatusOr<std::unique_ptr<Contender>> NewOmniPing(const std::string& peers,
                                                       const std::string& unix_path) {
  const std::string end_point =
      unix_path.empty() ? "giop:tcp:127.0.0.1:" : StrCat("giop:unix:", unix_path);
  auto server = Child::Start({peers + kServer, "-ORBendPoint", end_point});
  if (!server.ok()) return server.status();
  absl::StatusOr<std::string> ior = (*server)->ReadLineWith("IOR:", kTimeout);
  if (!ior.ok()) return ior.status();
  // Its reference has the address of its one end point only, so that is what the client uses.
  auto client = Child::Start({peers + kClient, *ior});
  if (!client.ok()) return client.status();
  if (auto line = (*client)->ReadLineWith("ready", kTimeout); !line.ok()) return line.status();
  return std::make_unique<OmniPing>(*std::move(server), *std::move(client));
}

}  // namespace weir::bench
