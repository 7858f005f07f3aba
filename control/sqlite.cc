#include "control/sqlite.h"

#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace weir::control {

absl::StatusOr<Sqlite> Sqlite::Open(const std::string& file) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  if (path.has_parent_path() && !std::filesystem::is_directory(path.parent_path(), ignored)) {
    return absl::NotFoundError(absl::StrCat("store ", file, ": the folder ",
                                            path.parent_path().string(),
                                            " does not exist; create it first"));
  }
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", file, " is a folder; name a file in it"));
  }
  // ":memory:" and the like are names for SQLite, but here they would lose what was acknowledged.
  const std::string name = file.starts_with(':') ? "./" + file : file;
  sqlite3* db = nullptr;
  const int rc = sqlite3_open_v2(
      name.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Sqlite sqlite(file, db);
  if (rc != SQLITE_OK) return sqlite.Error("opening");
  sqlite3_extended_result_codes(db, 1);
  // SQLite falls back to reading when it may not write.
  if (sqlite3_db_readonly(db, "main") == 1) {
    return absl::PermissionDeniedError(absl::StrCat(
        "store ", file, " is read only; make it and its folder writable for this user"));
  }
  return sqlite;
}

absl::Status Sqlite::Exec(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Error("preparing");
  return absl::OkStatus();
}

absl::Status Sqlite::Error(std::string_view doing) const {
  const int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_);
  const std::string cause = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
  const std::string prefix = absl::StrCat(std::string(doing), " store ", file_, ": ");
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::AbortedError(
          absl::StrCat("store ", file_,
                       " is locked by another process, most likely another node that uses the same "
                       "file; stop that one or name another file"));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::FailedPreconditionError(
          absl::StrCat(prefix, "not a sound SQLite database (", cause,
                       "); restore it from a copy or name another file"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(prefix, "the disk or the store is full (",
                                                       cause, "); nothing was changed, make room"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(
          absl::StrCat(prefix, cause, "; make it and its folder writable for this user"));
    default:
      return absl::UnavailableError(
          absl::StrCat(prefix, cause, " (SQLite code ", code, "); check the disk"));
  }
}

Statement::Statement(Sqlite* sqlite, const char* sql) : sqlite_(sqlite) {
  // A failure leaves no statement; Bind reports it.
  sqlite3_prepare_v2(sqlite->db(), sql, -1, &statement_, nullptr);
}

absl::Status Statement::Bind(std::initializer_list<Value> values) {
  if (statement_ == nullptr) return sqlite_->Error("reading");
  sqlite3_reset(statement_);
  int index = 0;
  for (const Value& value : values) {
    ++index;
    int rc;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      rc = sqlite3_bind_int64(statement_, index, *number);
    } else {
      const std::string_view text = std::get<std::string_view>(value);
      rc = sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(),
                               text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    if (rc != SQLITE_OK) return sqlite_->Error("writing to");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Statement::Next() {
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default: {
      absl::Status error = sqlite_->Error("using");
      sqlite3_reset(statement_);
      return error;
    }
  }
}

absl::Status Statement::Run(std::initializer_list<Value> values) {
  absl::Status bound = Bind(values);
  if (!bound.ok()) return bound;
  for (;;) {
    absl::StatusOr<bool> more = Next();
    if (!more.ok()) return more.status();
    if (!*more) break;
  }
  // Lets go of the statement's hold on the transaction.
  sqlite3_reset(statement_);
  return absl::OkStatus();
}

std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string()
                         : std::string(text, sqlite3_column_bytes(statement_, column));
}

}  // namespace weir::control
