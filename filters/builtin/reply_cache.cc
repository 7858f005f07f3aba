#include "filters/builtin/reply_cache.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "base/strings.h"

namespace weir::filters {
namespace {

constexpr size_t kMostParts = 16;
// A part below this would drop entries while others have room.
constexpr size_t kLeastEntries = 64;
constexpr size_t kLeastBytes = size_t{1} << 20;

size_t PartsFor(const ReplyCache::Limits& limits) {
  const size_t parts = std::min(limits.max_entries / kLeastEntries, limits.max_bytes / kLeastBytes);
  return std::clamp<size_t>(parts, 1, kMostParts);
}

}  // namespace

struct ReplyCache::Entry {
  explicit Entry(const Key& k);

  std::string texts;  // what the key's views point into
  Key key;
  std::shared_ptr<const CacheAnswer> answer;
  Nanos expires = 0;

  size_t cost() const { return texts.size() + answer->bytes.size() + kOverhead; }
};

ReplyCache::Entry::Entry(const Key& k)
    : texts(StrCat(k.question.object_key, k.question.operation, k.question.body)), key(k) {
  std::string_view rest = texts;
  for (std::string_view* view :
       {&key.question.object_key, &key.question.operation, &key.question.body}) {
    *view = rest.substr(0, view->size());
    rest.remove_prefix(view->size());
  }
}

bool CacheQuestion::operator==(const CacheQuestion& other) const {
  return object_key == other.object_key && operation == other.operation && body == other.body &&
         order == other.order && code_sets.for_char == other.code_sets.for_char &&
         code_sets.for_wchar == other.code_sets.for_wchar && giop_1_1 == other.giop_1_1;
}

ReplyCache::Key::Key(const CacheQuestion& q)
    : hash(absl::HashOf(ToAbsl(q.object_key), ToAbsl(q.operation), ToAbsl(q.body),
                        static_cast<int>(q.order), q.code_sets.for_char, q.code_sets.for_wchar,
                        q.giop_1_1)),
      question(q) {}

ReplyCache::ReplyCache(const Limits& limits)
    : limits_(limits),
      parts_(PartsFor(limits)),
      bytes_per_part_(limits.max_bytes / parts_.size()),
      entries_per_part_(limits.max_entries / parts_.size()) {}

ReplyCache::~ReplyCache() = default;

ReplyCache::Part& ReplyCache::PartOf(const Key& key) {
  // The maps within the parts use the lower bits.
  return parts_[(key.hash >> 32) % parts_.size()];
}

void ReplyCache::Drop(std::list<Entry>::iterator entry, Part* part, std::list<Entry>* out) {
  part->bytes -= entry->cost();
  part->index.erase(entry->key);
  out->splice(out->end(), part->entries, entry);
}

std::shared_ptr<const CacheAnswer> ReplyCache::Find(const CacheQuestion& question, Nanos now) {
  return Find(Key(question), now);
}

std::shared_ptr<const CacheAnswer> ReplyCache::Find(const Key& key, Nanos now) {
  std::list<Entry> dropped;
  Part& part = PartOf(key);
  MutexLock lock(&part.mu);
  const auto it = part.index.find(key);
  if (it == part.index.end()) return nullptr;
  const auto entry = it->second;
  if (now >= entry->expires) {
    Drop(entry, &part, &dropped);
    return nullptr;
  }
  part.entries.splice(part.entries.begin(), part.entries, entry);
  return entry->answer;
}

bool ReplyCache::Store(const CacheQuestion& question, std::string_view bytes, cdr::ByteOrder order,
                       uint8_t alignment, Nanos now, absl::FunctionRef<bool()> still_good) {
  const size_t texts =
      question.object_key.size() + question.operation.size() + question.body.size();
  if (texts + bytes.size() + kOverhead > bytes_per_part_) return false;
  const Key key(question);
  if (Find(key, now) != nullptr) return false;

  std::list<Entry> added, dropped;
  Entry& entry = added.emplace_back(key);
  entry.answer =
      std::make_shared<const CacheAnswer>(CacheAnswer{std::string(bytes), order, alignment});
  entry.expires = now + limits_.ttl;

  Part& part = PartOf(key);
  MutexLock lock(&part.mu);
  if (!still_good()) return false;
  // Another thread may have been faster.
  if (const auto it = part.index.find(key); it != part.index.end()) {
    Drop(it->second, &part, &dropped);
  }
  part.entries.splice(part.entries.begin(), added);
  part.index.emplace(entry.key, part.entries.begin());
  part.bytes += entry.cost();
  while (part.entries.size() > entries_per_part_ || part.bytes > bytes_per_part_) {
    Drop(std::prev(part.entries.end()), &part, &dropped);
    ++part.evicted;
  }
  return true;
}

size_t ReplyCache::Forget(std::string_view object_key, std::string_view operation) {
  std::list<Entry> dropped;
  for (Part& part : parts_) {
    MutexLock lock(&part.mu);
    for (auto it = part.entries.begin(); it != part.entries.end();) {
      const auto entry = it++;
      const CacheQuestion& question = entry->key.question;
      if ((object_key.empty() || question.object_key == object_key) &&
          (operation.empty() || question.operation == operation)) {
        Drop(entry, &part, &dropped);
      }
    }
  }
  return dropped.size();
}

ReplyCache::Size ReplyCache::size() const {
  Size size;
  for (const Part& part : parts_) {
    MutexLock lock(&part.mu);
    size.entries += part.entries.size();
    size.bytes += part.bytes;
    size.evicted += part.evicted;
  }
  return size;
}

}  // namespace weir::filters
