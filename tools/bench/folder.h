// A folder for Unix sockets, gone with its owner.
//
// Thread safety: none.

#ifndef WEIR_TOOLS_BENCH_FOLDER_H_
#define WEIR_TOOLS_BENCH_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace weir::bench {

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/weir-bench-XXXXXX";
    if (mkdtemp(path) != nullptr) path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Empty if none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weir::bench

#endif  // WEIR_TOOLS_BENCH_FOLDER_H_
