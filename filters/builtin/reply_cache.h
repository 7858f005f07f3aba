// Replies kept by what was asked, for a time and within a size.
//
// Cut into parts with a lock of their own, by the question's hash; each part has its share of the
// limits, and when that is used up it drops what was asked for least recently. A lock is held to
// look up and to link, never to copy a reply.
//
// Thread safety: safe for concurrent use.

#ifndef WEIR_FILTERS_BUILTIN_REPLY_CACHE_H_
#define WEIR_FILTERS_BUILTIN_REPLY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "orb/cdr/byte_order.h"
#include "orb/core/code_sets.h"

namespace weir::filters {

// All that a reply may depend on. The views belong to whoever asks.
struct CacheQuestion {
  std::string_view object_key;
  std::string_view operation;
  std::string_view body;
  cdr::ByteOrder order = cdr::kNativeOrder;  // of the body
  orb::CodeSets code_sets;                   // that the answer's text is in
  bool giop_1_1 = false;                     // whose wide characters have a layout of their own

  bool operator==(const CacheQuestion& other) const;
};

// Body of a NO_EXCEPTION reply.
struct CacheAnswer {
  std::string bytes;
  cdr::ByteOrder order = cdr::kNativeOrder;
  uint8_t alignment = 0;
};

class ReplyCache {
 public:
  struct Limits {
    Nanos ttl = 0;
    size_t max_bytes = 0;    // of questions, answers and kOverhead for each
    size_t max_entries = 0;  // at least 1
  };
  // What an entry takes beside its texts, roughly.
  static constexpr size_t kOverhead = 256;

  explicit ReplyCache(const Limits& limits);
  ~ReplyCache();
  ReplyCache(const ReplyCache&) = delete;
  ReplyCache& operator=(const ReplyCache&) = delete;

  // Null if there is no answer that is younger than its time to live. Allocates nothing.
  std::shared_ptr<const CacheAnswer> Find(const CacheQuestion& question, Nanos now);

  // Keeps a copy. Nothing happens if there is an answer that is still good, if this one would take
  // more than a part's share of max_bytes, or if `still_good` says no, which is asked where no
  // Forget can come between; false then.
  bool Store(const CacheQuestion& question, std::string_view bytes, cdr::ByteOrder order,
             uint8_t alignment, Nanos now, absl::FunctionRef<bool()> still_good);

  // Forgets the answers of this object, operation, or both; an empty one is any. Returns how many.
  size_t Forget(std::string_view object_key, std::string_view operation);

  struct Size {
    uint64_t entries = 0;
    uint64_t bytes = 0;    // as max_bytes counts them
    uint64_t evicted = 0;  // so far, for want of room
  };
  Size size() const;

 private:
  // A question whose hash is computed once.
  struct Key {
    explicit Key(const CacheQuestion& q);
    bool operator==(const Key&) const = default;

    size_t hash;  // compared first
    CacheQuestion question;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept { return key.hash; }
  };
  struct Entry;
  struct Part {
    mutable Mutex mu;
    std::list<Entry> entries ABSL_GUARDED_BY(mu);  // the last one was asked for least recently
    std::unordered_map<Key, std::list<Entry>::iterator, Hash> index ABSL_GUARDED_BY(mu);
    size_t bytes ABSL_GUARDED_BY(mu) = 0;
    uint64_t evicted ABSL_GUARDED_BY(mu) = 0;
  };

  Part& PartOf(const Key& key);
  std::shared_ptr<const CacheAnswer> Find(const Key& key, Nanos now);
  // Unlinks `entry` into `*out`, to be freed without the lock.
  static void Drop(std::list<Entry>::iterator entry, Part* part, std::list<Entry>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(part->mu);

  const Limits limits_;
  std::vector<Part> parts_;
  const size_t bytes_per_part_;
  const size_t entries_per_part_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_BUILTIN_REPLY_CACHE_H_
