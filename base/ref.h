// Intrusive reference counting, for objects that many threads share and whose owner cannot be told
// from the code's shape: connections with calls in flight.
//
// Thread safety: counts are atomic; a Ref itself has one owner at a time.

#ifndef WEIR_BASE_REF_H_
#define WEIR_BASE_REF_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace weir {

// Base class. A new object has one reference.
class RefCounted {
 public:
  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // For lists that hold no reference of their own, and that the object's destructor takes it out
  // of: false if the object is about to go.
  bool TryAddRef() const {
    int32_t refs = refs_.load(std::memory_order_relaxed);
    while (refs > 0) {
      if (refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void Unref() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;

 private:
  mutable std::atomic<int32_t> refs_{1};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  // Takes over a reference that the caller holds.
  static Ref Adopt(T* object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  // A further reference.
  static Ref Share(T* object) {
    if (object != nullptr) object->AddRef();
    return Adopt(object);
  }
  Ref(const Ref& other) : Ref(Share(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->Unref();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* Release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace weir

#endif  // WEIR_BASE_REF_H_
