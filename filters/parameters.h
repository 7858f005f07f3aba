// Reading a plug's parameters, against the list that its kind declares: what is not in the list is
// refused, and a parameter that is not set has the value that the list shows.
//
// Errors stick: after the first one every read returns 0 or an empty text and ok() is false, so a
// kind reads all of them and checks once.
//
//   ParameterReader read(*this, parameters);
//   const int64_t operations = read.Integer("operations", 1, 65536);
//   if (!read.ok()) return read.status();
//
// Thread safety: none; one owner at a time.

#ifndef WEIR_FILTERS_PARAMETERS_H_
#define WEIR_FILTERS_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "base/clock.h"
#include "filters/filter.h"
#include "orb/core/system_exception.h"

namespace weir::filters {

class ParameterReader {
 public:
  // Both must outlive the reader. Fails if `parameters` has a key that `kind` does not declare, or
  // lacks one that it requires.
  ParameterReader(const FilterKind& kind, const FilterParameters& parameters);

  bool ok() const { return status_.ok(); }
  // INVALID_ARGUMENT with one line that names the parameter, its value, and what is allowed.
  const absl::Status& status() const { return status_; }

  // The plug sets it.
  bool Has(std::string_view name) const;
  // Its value, or what it is otherwise. REQUIRES: the kind declares `name`, here and below.
  std::string_view Text(std::string_view name) const;
  // A whole number in [min, max].
  int64_t Integer(std::string_view name, int64_t min, int64_t max);
  // A number in [min, max].
  double Number(std::string_view name, double min, double max);
  // A time span in [min, max], written "200ms", "30s", "2m".
  Nanos Duration(std::string_view name, Nanos min, Nanos max);
  // The index of its value in `choices`.
  size_t Choice(std::string_view name, std::initializer_list<std::string_view> choices);
  // The system exception of that name.
  orb::ExceptionId Exception(std::string_view name);

  // Records an error found by the caller, unless one is recorded already: "parameter 'NAME' is
  // 'VALUE'" and `what`.
  void Fail(std::string_view name, std::string_view what);
  // An error that is not about a value.
  void Fail(std::string_view what);

 private:
  const FilterKind& kind_;
  const FilterParameters& parameters_;
  absl::Status status_;
};

}  // namespace weir::filters

#endif  // WEIR_FILTERS_PARAMETERS_H_
