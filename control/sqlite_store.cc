#include "control/sqlite_store.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "control/convert.h"
#include "control/describe.h"
#include "control/sqlite.h"
#include "control/utf8.h"

namespace weir::control {
namespace {

constexpr int64_t kApplicationId = 0x57656972;  // "Weir"
constexpr int64_t kSchemaVersion = 2;

// What brings an empty file to version 1, and then each version to the next.
constexpr const char* kSteps[kSchemaVersion] = {R"sql(
CREATE TABLE registry (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  next_sequence INTEGER NOT NULL);
INSERT INTO registry VALUES (1, 0, 1);
CREATE TABLE plug (
  name TEXT PRIMARY KEY,
  filter TEXT NOT NULL,
  selector TEXT NOT NULL,
  priority INTEGER NOT NULL,
  sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE parameter (
  plug TEXT NOT NULL REFERENCES plug ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (plug, name)) WITHOUT ROWID;
CREATE TABLE mapping (
  plug TEXT NOT NULL REFERENCES plug ON DELETE CASCADE,
  position INTEGER NOT NULL,
  operation TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('up', 'down')),
  method TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  PRIMARY KEY (plug, position)) WITHOUT ROWID;
CREATE TABLE history (
  revision INTEGER PRIMARY KEY,
  committed_at INTEGER NOT NULL,
  changes TEXT NOT NULL);
PRAGMA application_id = 0x57656972;
PRAGMA user_version = 1;
)sql",
                                                R"sql(
ALTER TABLE plug ADD COLUMN down_priority INTEGER NOT NULL DEFAULT 0;
UPDATE plug SET down_priority = priority;
CREATE TABLE clause (
  plug TEXT NOT NULL REFERENCES plug ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('before', 'after', 'if')),
  value TEXT NOT NULL,
  PRIMARY KEY (plug, kind, value)) WITHOUT ROWID;
CREATE TABLE reply_order (
  selector TEXT PRIMARY KEY,
  reply_order TEXT NOT NULL CHECK (reply_order IN ('reversed', 'plug-order'))) WITHOUT ROWID;
PRAGMA user_version = 2;
)sql"};

#define WEIR_RETURN_IF_ERROR(expression) \
  do {                                   \
    absl::Status status_ = (expression); \
    if (!status_.ok()) return status_;   \
  } while (false)

// The one number that a query yields.
absl::StatusOr<int64_t> Number(Sqlite* sqlite, const char* sql) {
  Statement query(sqlite, sql);
  WEIR_RETURN_IF_ERROR(query.Bind({}));
  absl::StatusOr<bool> row = query.Next();
  if (!row.ok()) return row.status();
  return *row ? query.Int(0) : 0;
}

// Brings an open file to the current schema, or says why it is none of ours.
absl::Status Migrate(Sqlite* sqlite) {
  absl::StatusOr<int64_t> application = Number(sqlite, "PRAGMA application_id");
  if (!application.ok()) return application.status();
  absl::StatusOr<int64_t> version = Number(sqlite, "PRAGMA user_version");
  if (!version.ok()) return version.status();
  absl::StatusOr<int64_t> tables = Number(sqlite, "SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();

  const bool empty = *application == 0 && *version == 0 && *tables == 0;
  if (!empty && *application != kApplicationId) {
    return absl::FailedPreconditionError(absl::StrCat(
        "store ", sqlite->file(), " is a SQLite database of another program; name another file"));
  }
  if (*version > kSchemaVersion || (!empty && *version < 1)) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", sqlite->file(), " has schema version ", *version,
                     ", but this program knows only ", kSchemaVersion,
                     "; use the program that wrote it, or a newer one"));
  }
  for (int64_t step = *version; step < kSchemaVersion; ++step) {
    WEIR_RETURN_IF_ERROR(sqlite->Exec(kSteps[step]));
  }
  return absl::OkStatus();
}

class SqliteStore : public Store {
 public:
  SqliteStore(Sqlite sqlite, StoreLimits limits) : limits_(limits), sqlite_(std::move(sqlite)) {}

  std::string name() const override { return absl::StrCat("sqlite:", file()); }

  absl::Status Prepare() ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<filters::State> Load() override;
  absl::Status Commit(uint64_t base_revision, const filters::State& state,
                      const filters::ChangeSet& changes, Nanos wall_time) override;
  absl::StatusOr<std::vector<HistoryEntry>> History(uint64_t after) override;

 private:
  // Constant after construction, so needs no lock.
  const std::string& file() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return sqlite_.file(); }

  absl::Status DataLoss(std::string_view what) const {
    return absl::DataLossError(absl::StrCat(
        "store ", file(), " makes no sense: ", std::string(what), "; restore it from a copy"));
  }
  absl::StatusOr<filters::State> Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Write(uint64_t base_revision, const filters::State& state,
                     const std::string& changes, Nanos wall_time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WritePlugs(const filters::State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WriteReplyOrders(const filters::State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const StoreLimits limits_;
  Mutex mu_;
  Sqlite sqlite_ ABSL_GUARDED_BY(mu_);
  // What the file holds, to write only what differs.
  filters::State stored_ ABSL_GUARDED_BY(mu_);
};

absl::Status SqliteStore::Prepare() {
  MutexLock lock(&mu_);
  // A node that has just been killed, or is being restarted, may still hold the lock for a moment.
  sqlite3_busy_timeout(sqlite_.db(), 1000);
  // Exclusive locking before the first access: the WAL then needs no shared memory, and the lock
  // that the transaction below takes is kept.
  WEIR_RETURN_IF_ERROR(
      sqlite_.Exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN EXCLUSIVE"));
  if (limits_.max_bytes > 0) {
    absl::StatusOr<int64_t> page_size = Number(&sqlite_, "PRAGMA page_size");
    if (!page_size.ok()) return page_size.status();
    const std::string pragma =
        absl::StrCat("PRAGMA max_page_count = ", limits_.max_bytes / *page_size);
    WEIR_RETURN_IF_ERROR(sqlite_.Exec(pragma.c_str()));
  }
  WEIR_RETURN_IF_ERROR(Migrate(&sqlite_));
  WEIR_RETURN_IF_ERROR(sqlite_.Exec("COMMIT"));
  absl::StatusOr<filters::State> state = Read();
  if (!state.ok()) return state.status();
  stored_ = *std::move(state);
  return absl::OkStatus();
}

absl::StatusOr<filters::State> SqliteStore::Load() {
  MutexLock lock(&mu_);
  return Read();
}

absl::StatusOr<filters::State> SqliteStore::Read() {
  filters::State state;
  Statement registry(&sqlite_, "SELECT revision, next_sequence FROM registry");
  WEIR_RETURN_IF_ERROR(registry.Bind({}));
  absl::StatusOr<bool> row = registry.Next();
  if (!row.ok()) return row.status();
  if (!*row) return DataLoss("the table registry is empty");
  state.revision = registry.Int(0);
  state.next_sequence = registry.Int(1);

  std::map<std::string, filters::Plug> plugs;
  Statement plug(&sqlite_,
                 "SELECT name, filter, selector, priority, sequence, down_priority FROM plug");
  WEIR_RETURN_IF_ERROR(plug.Bind({}));
  for (row = plug.Next(); row.ok() && *row; row = plug.Next()) {
    filters::Plug p;
    p.name = plug.Text(0);
    p.filter = plug.Text(1);
    p.selector = plug.Text(2);
    p.priority = static_cast<int32_t>(plug.Int(3));
    p.sequence = plug.Int(4);
    const auto down_priority = static_cast<int32_t>(plug.Int(5));
    if (down_priority != p.priority) p.down_priority = down_priority;
    plugs.emplace(p.name, std::move(p));
  }
  if (!row.ok()) return row.status();

  Statement parameter(&sqlite_, "SELECT plug, name, value FROM parameter");
  WEIR_RETURN_IF_ERROR(parameter.Bind({}));
  for (row = parameter.Next(); row.ok() && *row; row = parameter.Next()) {
    auto it = plugs.find(parameter.Text(0));
    if (it == plugs.end()) return DataLoss("a parameter belongs to no plug");
    it->second.parameters.emplace(parameter.Text(1), parameter.Text(2));
  }
  if (!row.ok()) return row.status();

  Statement clause(&sqlite_, "SELECT plug, kind, value FROM clause ORDER BY plug, kind, value");
  WEIR_RETURN_IF_ERROR(clause.Bind({}));
  for (row = clause.Next(); row.ok() && *row; row = clause.Next()) {
    auto it = plugs.find(clause.Text(0));
    if (it == plugs.end()) return DataLoss("a clause belongs to no plug");
    filters::Plug& p = it->second;
    const std::string kind = clause.Text(1);
    (kind == "before"  ? p.before
     : kind == "after" ? p.after
                       : p.conditions)
        .push_back(clause.Text(2));
  }
  if (!row.ok()) return row.status();

  Statement mapping(&sqlite_,
                    "SELECT plug, operation, phase, method, enabled FROM mapping "
                    "ORDER BY plug, position");
  WEIR_RETURN_IF_ERROR(mapping.Bind({}));
  for (row = mapping.Next(); row.ok() && *row; row = mapping.Next()) {
    auto it = plugs.find(mapping.Text(0));
    if (it == plugs.end()) return DataLoss("a mapping belongs to no plug");
    it->second.mappings.push_back(
        {mapping.Text(1), mapping.Text(2) == "up" ? filters::Phase::kUp : filters::Phase::kDown,
         mapping.Text(3), mapping.Int(4) != 0});
  }
  if (!row.ok()) return row.status();

  for (auto& [name, p] : plugs) state.plugs.push_back(std::move(p));

  Statement reply_order(&sqlite_,
                        "SELECT selector, reply_order FROM reply_order ORDER BY selector");
  WEIR_RETURN_IF_ERROR(reply_order.Bind({}));
  for (row = reply_order.Next(); row.ok() && *row; row = reply_order.Next()) {
    state.reply_orders.push_back({reply_order.Text(0), reply_order.Text(1) == "plug-order"
                                                           ? filters::ReplyOrder::kPlugOrder
                                                           : filters::ReplyOrder::kReversed});
  }
  if (!row.ok()) return row.status();
  return state;
}

absl::Status SqliteStore::Commit(uint64_t base_revision, const filters::State& state,
                                 const filters::ChangeSet& changes, Nanos wall_time) {
  std::string json;
  // The conversion drops other octets without a word. A description holds all text of the changes.
  if (!IsUtf8(Describe(changes, std::string::npos)) ||
      !google::protobuf::util::MessageToJsonString(ToProto(changes), &json).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("store ", file(), ": the change set holds text that is not UTF-8"));
  }
  MutexLock lock(&mu_);
  absl::Status status = Write(base_revision, state, json, wall_time);
  if (!status.ok()) {
    // After some errors SQLite has rolled back by itself.
    if (!sqlite3_get_autocommit(sqlite_.db())) sqlite_.Exec("ROLLBACK").IgnoreError();
    return status;
  }
  stored_ = state;
  return absl::OkStatus();
}

absl::Status SqliteStore::Write(uint64_t base_revision, const filters::State& state,
                                const std::string& changes, Nanos wall_time) {
  WEIR_RETURN_IF_ERROR(sqlite_.Exec("BEGIN IMMEDIATE"));
  absl::StatusOr<int64_t> revision = Number(&sqlite_, "SELECT revision FROM registry");
  if (!revision.ok()) return revision.status();
  if (static_cast<uint64_t>(*revision) != base_revision) {
    return absl::AbortedError(absl::StrCat("store ", file(), " is at revision ", *revision,
                                           ", but this node is at ", base_revision,
                                           "; restart the node to read it again"));
  }
  WEIR_RETURN_IF_ERROR(WritePlugs(state));
  if (state.reply_orders != stored_.reply_orders) WEIR_RETURN_IF_ERROR(WriteReplyOrders(state));
  WEIR_RETURN_IF_ERROR(
      Statement(&sqlite_, "UPDATE registry SET revision = ?, next_sequence = ?")
          .Run({static_cast<int64_t>(state.revision), static_cast<int64_t>(state.next_sequence)}));
  WEIR_RETURN_IF_ERROR(Statement(&sqlite_, "INSERT INTO history VALUES (?, ?, ?)")
                           .Run({static_cast<int64_t>(state.revision), wall_time, changes}));
  if (state.revision > limits_.history) {
    WEIR_RETURN_IF_ERROR(Statement(&sqlite_, "DELETE FROM history WHERE revision <= ?")
                             .Run({static_cast<int64_t>(state.revision - limits_.history)}));
  }
  return sqlite_.Exec("COMMIT");
}

absl::Status SqliteStore::WriteReplyOrders(const filters::State& state) {
  WEIR_RETURN_IF_ERROR(sqlite_.Exec("DELETE FROM reply_order"));
  Statement insert(&sqlite_, "INSERT INTO reply_order VALUES (?, ?)");
  for (const filters::TargetReplyOrder& target : state.reply_orders) {
    WEIR_RETURN_IF_ERROR(insert.Run({target.selector, ReplyOrderName(target.order)}));
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::WritePlugs(const filters::State& state) {
  Statement drop(&sqlite_, "DELETE FROM plug WHERE name = ?");
  Statement plug(&sqlite_, "INSERT INTO plug VALUES (?, ?, ?, ?, ?, ?)");
  Statement parameter(&sqlite_, "INSERT INTO parameter VALUES (?, ?, ?)");
  Statement clause(&sqlite_, "INSERT INTO clause VALUES (?, ?, ?)");
  Statement mapping(&sqlite_, "INSERT INTO mapping VALUES (?, ?, ?, ?, ?, ?)");

  std::map<std::string_view, const filters::Plug*> wanted;
  for (const filters::Plug& p : state.plugs) wanted.emplace(p.name, &p);
  for (const filters::Plug& old : stored_.plugs) {
    auto it = wanted.find(old.name);
    if (it != wanted.end() && *it->second == old) {
      wanted.erase(it);
    } else {
      WEIR_RETURN_IF_ERROR(drop.Run({old.name}));
    }
  }
  for (const auto& [name, p] : wanted) {
    WEIR_RETURN_IF_ERROR(plug.Run({p->name, p->filter, p->selector, int64_t{p->priority},
                                   static_cast<int64_t>(p->sequence),
                                   int64_t{p->down_priority.value_or(p->priority)}}));
    for (const auto& [key, value] : p->parameters) {
      WEIR_RETURN_IF_ERROR(parameter.Run({p->name, key, value}));
    }
    for (const auto& [kind, values] :
         {std::pair<std::string_view, const std::vector<std::string>&>{"before", p->before},
          {"after", p->after},
          {"if", p->conditions}}) {
      for (const std::string& value : values) {
        WEIR_RETURN_IF_ERROR(clause.Run({p->name, kind, value}));
      }
    }
    int64_t position = 0;
    for (const filters::Mapping& m : p->mappings) {
      WEIR_RETURN_IF_ERROR(
          mapping.Run({p->name, position++, m.operation,
                       std::string_view(m.phase == filters::Phase::kUp ? "up" : "down"), m.method,
                       int64_t{m.enabled}}));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HistoryEntry>> SqliteStore::History(uint64_t after) {
  MutexLock lock(&mu_);
  std::vector<HistoryEntry> entries;
  Statement query(&sqlite_,
                  "SELECT revision, committed_at, changes FROM history WHERE revision > ? "
                  "ORDER BY revision");
  WEIR_RETURN_IF_ERROR(query.Bind({static_cast<int64_t>(after)}));
  absl::StatusOr<bool> row = query.Next();
  for (; row.ok() && *row; row = query.Next()) {
    v1::ChangeSet message;
    if (!google::protobuf::util::JsonStringToMessage(query.Text(2), &message).ok()) {
      return DataLoss(absl::StrCat("revision ", query.Int(0), " of the history"));
    }
    absl::StatusOr<filters::ChangeSet> changes = FromProto(message);
    if (!changes.ok()) return DataLoss(std::string(changes.status().message()));
    entries.push_back({static_cast<uint64_t>(query.Int(0)), query.Int(1), *std::move(changes)});
  }
  if (!row.ok()) return row.status();
  return entries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& file,
                                                       StoreLimits limits) {
  absl::StatusOr<Sqlite> sqlite = Sqlite::Open(file);
  if (!sqlite.ok()) return sqlite.status();
  auto store = std::make_unique<SqliteStore>(*std::move(sqlite), limits);
  absl::Status prepared = store->Prepare();
  if (!prepared.ok()) return prepared;
  return store;
}

}  // namespace weir::control
