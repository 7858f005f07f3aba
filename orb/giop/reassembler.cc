#include "orb/giop/reassembler.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "orb/giop/request.h"
#include "orb/giop/service_context.h"

namespace weir::giop {
namespace {

// In 1.2, what may be fragmented begins with its request id, and so does each fragment.
constexpr size_t kIdEnd12 = kHeaderSize + 4;

// The request id of a first piece, if that holds it.
std::optional<uint32_t> IdOf(const Header& header, std::string_view piece, const Limits& limits) {
  cdr::Decoder in(piece, header.order);
  in.Skip(kHeaderSize);
  if (header.minor != GiopMinor::k2 &&
      (header.type == MessageType::kRequest || header.type == MessageType::kReply)) {
    const uint32_t contexts = in.ReadSequenceLength(8, limits.max_service_contexts);
    for (uint32_t i = 0; i < contexts && in.ok(); ++i) {
      in.ReadULong();
      in.ReadOctetSequence();
    }
  }
  const uint32_t id = in.ReadULong();
  if (!in.ok()) return std::nullopt;
  return id;
}

}  // namespace

Reassembler::~Reassembler() {
  while (!partials_.empty()) Drop(partials_.size() - 1);
}

size_t Reassembler::Find(uint32_t id) const {
  size_t i = 0;
  while (i < partials_.size() && !(partials_[i].has_id && partials_[i].id == id)) ++i;
  return i;
}

Reassembler::Outcome Reassembler::Add(const Header& header, std::string_view piece, Message* whole,
                                      size_t* wire_size, std::string* error) {
  if (header.type != MessageType::kFragment) return Open(header, piece, error);
  size_t index = 0;
  size_t data_at = kHeaderSize;
  if (header.minor == GiopMinor::k2) {
    if (HasOld()) {
      *error = "GIOP 1.2 fragment amid the fragments of a GIOP 1.1 message";
      return Outcome::kError;
    }
    const std::optional<uint32_t> id = IdOf(header, piece, limits_);
    if (!id.has_value()) {
      *error = "fragment without a request id";
      return Outcome::kError;
    }
    index = Find(*id);
    if (index == partials_.size()) return Outcome::kUnknown;
    data_at = kIdEnd12;
  } else if (!HasOld()) {
    *error = partials_.empty() ? "GIOP 1.1 fragment of no message"
                               : "GIOP 1.1 fragment of a GIOP 1.2 message";
    return Outcome::kError;
  }
  const Outcome outcome = Append(&partials_[index], header, piece, data_at, error);
  if (outcome == Outcome::kComplete) Finish(index, whole, wire_size);
  return outcome;
}

Reassembler::Outcome Reassembler::Open(const Header& header, std::string_view piece,
                                       std::string* error) {
  if (const char* wrong = Interleaves(header, piece)) {
    *error = wrong;
    return Outcome::kError;
  }
  const bool old = header.minor != GiopMinor::k2;
  if (old && !partials_.empty()) {
    *error = "fragmented GIOP 1.1 message amid the fragments of another";
    return Outcome::kError;
  }
  const std::optional<uint32_t> id = IdOf(header, piece, limits_);
  if (!old && !id.has_value()) {
    *error = "first fragment without a request id";
    return Outcome::kError;
  }
  if (partials_.size() >= limits_.max_partial_messages) {
    *error = absl::StrFormat("more than %d messages in fragments at a time",
                             limits_.max_partial_messages);
    return Outcome::kError;
  }
  Partial& partial = partials_.emplace_back();
  partial.header = header;
  partial.has_id = id.has_value();
  partial.id = id.value_or(0);
  partial.wire_size = piece.size();
  partial.end_alignment = piece.size() & 7;
  return Store(&partial, piece, error) ? Outcome::kPartial : Outcome::kError;
}

Reassembler::Outcome Reassembler::Append(Partial* partial, const Header& header,
                                         std::string_view piece, size_t data_at,
                                         std::string* error) {
  if (header.order != partial->header.order) {
    *error = "byte order changes between the fragments of a message";
    return Outcome::kError;
  }
  if (partial->fragments >= limits_.max_fragments) {
    *error = absl::StrFormat("message in more than %d fragments", limits_.max_fragments);
    return Outcome::kError;
  }
  ++partial->fragments;
  partial->wire_size += piece.size();
  const std::string_view data = piece.substr(data_at);
  if (!data.empty()) {
    // The data stands at `data_at` in its own piece, modulo 8.
    if (partial->end_alignment != (data_at & 7)) {
      if (header.minor == GiopMinor::k2) {
        *error = "GIOP 1.2 fragment, not the last, whose length is no multiple of 8";
        return Outcome::kError;
      }
      partial->restarts.push_back(static_cast<uint32_t>(partial->size));
    }
    if (!Store(partial, data, error)) return Outcome::kError;
    partial->end_alignment = (data_at + data.size()) & 7;
  }
  return header.more ? Outcome::kPartial : Outcome::kComplete;
}

bool Reassembler::Store(Partial* partial, std::string_view data, std::string* error) {
  if (data.size() > limits_.max_message_size - partial->size) {
    *error =
        absl::StrFormat("message of more than %d bytes in fragments", limits_.max_message_size);
    return false;
  }
  const size_t size = partial->size + data.size();
  if (!partial->block || partial->block->capacity() < size) {
    // Doubling copies each byte once on average, and holds at most twice what has arrived.
    const size_t capacity = std::max(
        {size, std::min(2 * partial->size, limits_.max_message_size), cdr::Block::kStandardSize});
    const size_t more = capacity - (partial->block ? partial->block->capacity() : 0);
    if (!budget_->Take(more)) {
      *error = "too many bytes of incomplete messages on all connections together";
      return false;
    }
    partial->charged += more;
    cdr::BlockRef block = cdr::BlockRef::Allocate(capacity);
    if (partial->size > 0) std::memcpy(block->data(), partial->block->data(), partial->size);
    partial->block = std::move(block);
  }
  std::memcpy(partial->block->data() + partial->size, data.data(), data.size());
  partial->size = size;
  return true;
}

void Reassembler::Finish(size_t index, Message* whole, size_t* wire_size) {
  Partial& partial = partials_[index];
  if (!partial.restarts.empty()) {
    // The offsets live behind the message, in its block.
    const size_t at = (partial.size + 3) & ~size_t{3};
    const size_t bytes = partial.restarts.size() * sizeof(uint32_t);
    if (partial.block->capacity() < at + bytes) {
      cdr::BlockRef block = cdr::BlockRef::Allocate(at + bytes);
      std::memcpy(block->data(), partial.block->data(), partial.size);
      partial.block = std::move(block);
    }
    uint8_t* const offsets = partial.block->data() + at;
    std::memcpy(offsets, partial.restarts.data(), bytes);
    whole->restarts = {reinterpret_cast<const uint32_t*>(offsets),
                       static_cast<uint32_t>(partial.restarts.size())};
  } else {
    whole->restarts = {};
  }
  whole->header = partial.header;
  whole->header.more = false;
  whole->header.size = static_cast<uint32_t>(partial.size - kHeaderSize);
  whole->bytes = {reinterpret_cast<const char*>(partial.block->data()), partial.size};
  whole->block = std::move(partial.block);
  *wire_size = partial.wire_size;
  Drop(index);
}

const char* Reassembler::Interleaves(const Header& header, std::string_view message) const {
  if (partials_.empty()) return nullptr;
  if (HasOld()) return "message amid the fragments of a GIOP 1.1 message";
  const std::optional<uint32_t> id = IdOf(header, message, limits_);
  if (id.has_value() && Find(*id) != partials_.size()) {
    return "request id of a message that is still arriving in fragments";
  }
  return nullptr;
}

void Reassembler::Cancel(uint32_t id) {
  const size_t index = Find(id);
  if (index != partials_.size()) Drop(index);
}

void Reassembler::Drop(size_t index) {
  budget_->Give(partials_[index].charged);
  if (index + 1 != partials_.size()) partials_[index] = std::move(partials_.back());
  partials_.pop_back();
}

}  // namespace weir::giop
