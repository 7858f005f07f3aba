// Rows of cells in columns, as text for people.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_TOOLS_WEIR_TABLE_H_
#define WEIR_TOOLS_WEIR_TABLE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir::tools {

class Table {
 public:
  // Each line begins with `indent`.
  explicit Table(std::string indent) : indent_(std::move(indent)) {}

  // All cells but the last are padded to their column's width.
  void Row(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  void AppendTo(std::string* out) const {
    for (const std::vector<std::string>& row : rows_) {
      std::string line = indent_;
      for (size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        line.append(widths_[i] - row[i].size() + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      *out += line;
      *out += '\n';
    }
  }

 private:
  const std::string indent_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_TABLE_H_
