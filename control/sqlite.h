// The few calls of SQLite that the store needs, with statuses that name the file.
//
// Thread safety: none; the caller locks.

#ifndef WEIR_CONTROL_SQLITE_H_
#define WEIR_CONTROL_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::control {

// An open database file.
class Sqlite {
 public:
  // Opens `file`, creating it if there is none. Errors: as OpenSqliteStore.
  static absl::StatusOr<Sqlite> Open(const std::string& file);

  Sqlite(Sqlite&& other) noexcept
      : file_(std::move(other.file_)), db_(std::exchange(other.db_, nullptr)) {}
  ~Sqlite() { sqlite3_close_v2(db_); }

  // Runs statements that yield no rows of interest.
  absl::Status Exec(const char* sql);

  // What went wrong in the latest call while `doing` something: "writing revision 7 to".
  absl::Status Error(std::string_view doing) const;

  const std::string& file() const { return file_; }
  sqlite3* db() const { return db_; }

 private:
  Sqlite(std::string file, sqlite3* db) : file_(std::move(file)), db_(db) {}

  std::string file_;
  sqlite3* db_;
};

// A prepared statement. Usage: bind with Run, or Run and Next until it yields false.
class Statement {
 public:
  using Value = std::variant<int64_t, std::string_view>;

  // `sqlite` must outlive the statement.
  Statement(Sqlite* sqlite, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds `values`, which must live until the next Bind, and makes ready for Next.
  absl::Status Bind(std::initializer_list<Value> values);
  // Steps to the next row; false after the last.
  absl::StatusOr<bool> Next();
  // Bind, then Next until the end.
  absl::Status Run(std::initializer_list<Value> values);

  // Columns of the current row, from 0.
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const;

 private:
  Sqlite* const sqlite_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace weir::control

#endif  // WEIR_CONTROL_SQLITE_H_
