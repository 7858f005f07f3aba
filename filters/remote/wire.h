// Questions, answers and descriptions in CDR: the operations of a filter that is an object.
//
//   module weir {
//     typedef sequence<octet> Octets;
//     struct Body { Octets data; boolean little_endian; octet alignment; };
//     struct Context { unsigned long id; Octets data; };
//     typedef sequence<Context> Contexts;
//     struct Method { string name; boolean down; octet reads; boolean changes; string help; };
//     typedef sequence<Method> Methods;
//     struct Policy { unsigned long method; unsigned long timeout_ms; string on_failure; };
//     typedef sequence<Policy> Policies;          // method: its number in Methods, from 0
//     struct Question {
//       string method; boolean down; octet reads;
//       unsigned long long call_id; Octets object_key; string operation; string peer;
//       boolean response_expected; Contexts contexts; unsigned long status; Body body;
//     };                                          // what `reads` leaves out is empty
//     struct Answer {
//       octet kind;           // 0 pass, 1 result, 2 user exception, 3 system exception, 4 failure,
//                             // 5 redirect, 6 redirect to a reference
//       boolean has_body; Body body;
//       string operation;                         // empty: unchanged
//       boolean has_contexts; Contexts contexts;
//       string exception; unsigned long minor; octet completed;
//       string failure;
//       Octets redirect;  // an object key, or for 6 "IOR:..." or "corbaloc:..."
//     };
//     interface Filter {                          // IDL:weir/Filter:1.0
//       // An older filter's reply ends before the policies; an older node does not read them.
//       Methods describe(in string name, out Policies policies);
//       Answer judge(in string name, in Question question);
//     };
//   };
//
// Thread safety: pure functions.

#ifndef WEIR_FILTERS_REMOTE_WIRE_H_
#define WEIR_FILTERS_REMOTE_WIRE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "filters/remote/channel.h"
#include "orb/cdr/decoder.h"
#include "orb/cdr/encoder.h"

namespace weir::filters {

inline constexpr char kFilterRepositoryId[] = "IDL:weir/Filter:1.0";

// A question as its receiver has it.
struct ReceivedQuestion {
  std::string method;
  Phase phase = Phase::kUp;
  Reads reads = Reads::kHeader;
  uint64_t call_id = 0;
  std::string object_key;
  std::string operation;
  std::string peer;
  bool response_expected = true;
  std::vector<std::pair<uint32_t, std::string>> contexts;
  orb::ReplyStatus status = orb::ReplyStatus::kNoException;
  OwnedBody body;
  // Not in the message: the depth of calls that the filter makes meanwhile (orb/core/nesting.h).
  int nesting = 1;
};

void Encode(const Question& question, cdr::Encoder* out);
void Encode(const Answer& answer, cdr::Encoder* out);
void Encode(const std::vector<MethodInfo>& methods, cdr::Encoder* out);

// INVALID_ARGUMENT if the bytes are no such thing; the peer is not trusted.
absl::StatusOr<ReceivedQuestion> DecodeQuestion(cdr::Decoder* in);
absl::StatusOr<Answer> DecodeAnswer(cdr::Decoder* in);
absl::StatusOr<std::vector<MethodInfo>> DecodeMethods(cdr::Decoder* in);

}  // namespace weir::filters

#endif  // WEIR_FILTERS_REMOTE_WIRE_H_
