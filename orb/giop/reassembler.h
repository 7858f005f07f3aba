// Gathers the fragments of one connection's incoming messages (CORBA 3.3 part 2, 9.4.9) under hard
// limits. Memory grows with the bytes that have arrived, never with what a peer announces.
//
//  1. A message with "more fragments" set opens a partial message, by request id (1.2) or as the
//     only one (1.1).
//  2. Fragments append their data to it. In 1.2 the data starts at 8-aligned positions of the
//     whole; in 1.1 alignment starts anew with each fragment, which cdr::Restarts record.
//  3. The last one makes it a Message; or a CancelRequest drops it.
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_ORB_GIOP_REASSEMBLER_H_
#define WEIR_ORB_GIOP_REASSEMBLER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "orb/giop/body.h"
#include "orb/giop/header.h"
#include "orb/giop/limits.h"

namespace weir::giop {

class Reassembler {
 public:
  enum class Outcome : uint8_t {
    kPartial,   // the piece is kept
    kComplete,  // *whole is the message
    kUnknown,   // a 1.2 fragment of no known message, such as one cancelled: to be ignored
    kError,     // the connection is beyond use
  };

  // `budget` is shared by all connections and must outlive the reassembler.
  Reassembler(const Limits& limits, PartialBudget* budget) : limits_(limits), budget_(budget) {}
  ~Reassembler();
  Reassembler(const Reassembler&) = delete;
  Reassembler& operator=(const Reassembler&) = delete;

  bool empty() const { return partials_.empty(); }

  // Takes in one piece: a Fragment, or another message with `more` set. `piece` is the whole piece
  // with its header. On kComplete `*whole` and `*wire_size` (bytes of all pieces) are set; on
  // kError `*error` says in English what the peer did wrong.
  Outcome Add(const Header& header, std::string_view piece, Message* whole, size_t* wire_size,
              std::string* error);

  // A whole, unfragmented message with this header is about to be decoded. Returns null, or what
  // is wrong with it coming now: GIOP 1.1 does not interleave, and an id is not to be used twice.
  const char* Interleaves(const Header& header, std::string_view message) const;

  // Drops what has arrived of request `id`, if anything.
  void Cancel(uint32_t id);

 private:
  struct Partial {
    Header header;  // of the first piece
    bool has_id = false;
    uint32_t id = 0;
    uint32_t fragments = 1;
    cdr::BlockRef block;
    size_t size = 0;           // bytes in `block`
    size_t charged = 0;        // taken from the budget
    size_t wire_size = 0;      // bytes of all pieces, with all headers
    size_t end_alignment = 0;  // alignment position, modulo 8, of the byte that would come next
    std::vector<uint32_t> restarts;
  };

  Outcome Open(const Header& header, std::string_view piece, std::string* error);
  Outcome Append(Partial* partial, const Header& header, std::string_view piece, size_t data_at,
                 std::string* error);
  bool Store(Partial* partial, std::string_view data, std::string* error);
  void Finish(size_t index, Message* whole, size_t* wire_size);
  void Drop(size_t index);
  // Index of the partial message with this id, or partials_.size().
  size_t Find(uint32_t id) const;
  bool HasOld() const {
    return partials_.size() == 1 && partials_[0].header.minor != GiopMinor::k2;
  }

  const Limits& limits_;
  PartialBudget* const budget_;
  std::vector<Partial> partials_;
};

}  // namespace weir::giop

#endif  // WEIR_ORB_GIOP_REASSEMBLER_H_
