// A growable run of bytes that keeps its capacity when cleared, so that a reused one allocates
// nothing, and that never fills with zeroes what is about to be written.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_CDR_BYTE_BUFFER_H_
#define WEIR_ORB_CDR_BYTE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace weir::cdr {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept { *this = std::move(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  const uint8_t* data() const { return data_.get(); }
  uint8_t* data() { return data_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_.get()), size_}; }

  void Clear() { size_ = 0; }
  // Drops the last bytes. REQUIRES: size <= this->size().
  void Truncate(size_t size) { size_ = size; }
  // Gives memory beyond `capacity` bytes back. Empties the buffer if it has more.
  void ShrinkTo(size_t capacity) {
    if (capacity_ <= capacity) return;
    data_.reset();
    size_ = capacity_ = 0;
  }

  // Appends `n` bytes of unspecified content and returns where they start.
  uint8_t* Extend(size_t n) {
    if (capacity_ - size_ < n) [[unlikely]]
      Grow(n);
    uint8_t* at = data_.get() + size_;
    size_ += n;
    return at;
  }

  void Append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size());
  }

 private:
  void Grow(size_t n) {
    size_t capacity = capacity_ < 256 ? 512 : capacity_ * 2;
    while (capacity - size_ < n) capacity *= 2;
    std::unique_ptr<uint8_t[]> data(new uint8_t[capacity]);
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }

  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace weir::cdr

#endif  // WEIR_ORB_CDR_BYTE_BUFFER_H_
