// A log line of `name=value` words, built on the stack.
//
// Values may come from hostile peers. Every byte that could end a word or the line is escaped
// (filters/escape.h), and a long value is cut and ends in "...", so a value can neither forge a
// word nor push out the ones after it.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_FILTERS_LOG_LINE_H_
#define WEIR_FILTERS_LOG_LINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::filters {

class LogLine {
 public:
  // Bytes that a value may take in the line.
  static constexpr size_t kMaxValue = 256;

  explicit LogLine(std::string_view event) { Add("event", event); }

  // `name` is ours and is not escaped. An empty value is written "-".
  void Add(std::string_view name, std::string_view value);
  void Add(std::string_view name, uint64_t value);
  // The first `most` octets, two hexadecimal digits each, and "..." if there are more.
  // REQUIRES: most <= 1024.
  void AddHex(std::string_view name, std::string_view octets, size_t most);
  // name=first:second
  void Add(std::string_view name, std::string_view first, std::string_view second);

  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void Name(std::string_view name);
  void Value(std::string_view value);
  void Append(std::string_view text);

  std::array<char, 4096> bytes_;
  size_t size_ = 0;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_LOG_LINE_H_
