// What every store promises, and what the SQLite store does with files that are not as it wants.

#include "control/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/support/environment.h"

namespace weir::control {
namespace {

using ::testing::HasSubstr;
using weir::testing::TempDir;

filters::State StateWith(uint64_t revision, int plugs) {
  filters::State state;
  state.revision = revision;
  state.next_sequence = plugs + 1;
  for (int i = 0; i < plugs; ++i) {
    filters::Plug plug;
    plug.name = "p" + std::to_string(1000 + i);  // states are ordered by name
    plug.filter = "deny";
    plug.selector = "key:Pl\xc3\xa4tze/*";
    plug.parameters = {
        {"exception", "TRANSIENT"}, {"empty", ""}, {"odd", std::string("a'b\0c", 5)}};
    plug.priority = -i;
    plug.sequence = i + 1;
    if (i % 2 == 1) {
      plug.down_priority = 7;
      plug.before = {"p1", "q"};
      plug.after = {"p1000"};
      plug.conditions = {"operation=get_*", "peer!=10.0.0.0/8"};
    }
    plug.mappings = {{"*", filters::Phase::kUp, "deny", true},
                     {"z", filters::Phase::kDown, "reply", false},
                     {"a", filters::Phase::kDown, "reply", true}};
    state.plugs.push_back(std::move(plug));
  }
  if (plugs > 1) {
    state.reply_orders = {{"all", filters::ReplyOrder::kReversed},
                          {"key:Pl\xc3\xa4tze/*", filters::ReplyOrder::kPlugOrder}};
  }
  return state;
}

const filters::ChangeSet kChanges = {filters::UnplugChange{"x"},
                                     filters::EnableChange{"p", "op", "m", filters::Phase::kDown}};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Both kinds of store.
class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Store> Open(StoreLimits limits = {}) {
    auto store = OpenStore(GetParam() ? "sqlite:" + dir.File("db") : "memory", limits);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  TempDir dir;
};
INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, ::testing::Bool(), [](const auto& kind) {
  return std::string(kind.param ? "Sqlite" : "Memory");
});

TEST_P(StoreTest, ANewStoreIsAtRevisionZero) {
  auto state = Open()->Load();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, filters::State());
}

TEST_P(StoreTest, WhatWasCommittedIsLoadedExactly) {
  auto store = Open();
  ASSERT_TRUE(store->Commit(0, StateWith(1, 3), kChanges, 7).ok());
  auto state = store->Load();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, StateWith(1, 3));
}

TEST_P(StoreTest, PlugsThatAreGoneOrDifferentAreReplaced) {
  auto store = Open();
  ASSERT_TRUE(store->Commit(0, StateWith(1, 3), kChanges, 7).ok());
  filters::State next = StateWith(2, 2);
  next.plugs[0].mappings.clear();
  next.plugs[1].parameters["new"] = "1";
  next.plugs[1].before.pop_back();
  next.reply_orders.erase(next.reply_orders.begin());
  ASSERT_TRUE(store->Commit(1, next, kChanges, 8).ok());
  EXPECT_EQ(*store->Load(), next);
}

TEST_P(StoreTest, ACommitFromAnotherRevisionIsAbortedAndStoresNothing) {
  auto store = Open();
  ASSERT_TRUE(store->Commit(0, StateWith(1, 1), kChanges, 7).ok());
  EXPECT_EQ(store->Commit(0, StateWith(1, 2), kChanges, 7).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*store->Load(), StateWith(1, 1));
  EXPECT_TRUE(store->Commit(1, StateWith(2, 2), kChanges, 7).ok());
}

TEST_P(StoreTest, HistoryTellsEachRevisionOldestFirst) {
  auto store = Open();
  ASSERT_TRUE(store->Commit(0, StateWith(1, 1), {filters::UnplugChange{"first"}}, 7).ok());
  ASSERT_TRUE(store->Commit(1, StateWith(2, 1), kChanges, 8).ok());
  auto history = store->History(0);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ(history->at(0).revision, 1u);
  EXPECT_EQ(history->at(1).committed_at, 8);
  ASSERT_EQ(history->at(1).changes.size(), 2u);
  const auto& enable = std::get<filters::EnableChange>(history->at(1).changes[1]);
  EXPECT_EQ(enable.method, "m");
  EXPECT_EQ(enable.phase, filters::Phase::kDown);
  EXPECT_TRUE(enable.enable);
  EXPECT_EQ(store->History(1)->size(), 1u);
}

TEST_P(StoreTest, HistoryKeepsNoMoreThanItsLimit) {
  auto store = Open({.history = 3});
  for (uint64_t r = 1; r <= 10; ++r) {
    ASSERT_TRUE(store->Commit(r - 1, StateWith(r, 1), kChanges, 7).ok());
  }
  auto history = store->History(0);
  ASSERT_EQ(history->size(), 3u);
  EXPECT_EQ(history->front().revision, 8u);
}

TEST(OpenStoreTest, OtherSpellingsAreRefused) {
  for (const char* spec : {"", "sqlite:", "sqlite", "etcd:here", "Memory"}) {
    auto store = OpenStore(spec);
    EXPECT_EQ(store.status().code(), absl::StatusCode::kInvalidArgument) << spec;
  }
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Store>> Open(StoreLimits limits = {}) {
    return OpenStore("sqlite:" + file, limits);
  }
  // Runs `sql` on the file, which no store has open.
  void Exec(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  // That opening fails with `code`, naming the file and `cause`.
  void ExpectRefused(absl::StatusCode code, const std::string& cause) {
    auto store = Open();
    EXPECT_EQ(store.status().code(), code) << store.status();
    EXPECT_THAT(Message(store.status()), HasSubstr(file));
    EXPECT_THAT(Message(store.status()), HasSubstr(cause));
  }

  TempDir dir;
  std::string file = dir.File("registry.db");
};

TEST_F(SqliteStoreTest, AReopenedFileHoldsWhatWasCommitted) {
  ASSERT_TRUE((*Open())->Commit(0, StateWith(1, 2), kChanges, 7).ok());
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*(*again)->Load(), StateWith(1, 2));
  EXPECT_TRUE((*again)->Commit(1, StateWith(2, 3), kChanges, 7).ok());
}

TEST_F(SqliteStoreTest, AMissingFolderIsNamed) {
  file = dir.File("nosuch/registry.db");
  ExpectRefused(absl::StatusCode::kNotFound, dir.File("nosuch"));
}

TEST_F(SqliteStoreTest, AFolderIsNoFile) {
  file = dir.path();
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "folder");
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsLeftAlone) {
  const std::string text(5000, 'x');
  std::ofstream(file) << text;
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "not a sound SQLite database");
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(SqliteStoreTest, AnotherProgramsDatabaseIsRefused) {
  Exec("CREATE TABLE bookmarks (url TEXT)");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "another program");
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(Open().ok());
  Exec("PRAGMA user_version = 99");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "schema version 99");
}

TEST_F(SqliteStoreTest, AFileOfTheFirstSchemaIsBroughtToThisOne) {
  Exec(R"sql(
CREATE TABLE registry (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  next_sequence INTEGER NOT NULL);
INSERT INTO registry VALUES (1, 12, 4);
CREATE TABLE plug (
  name TEXT PRIMARY KEY,
  filter TEXT NOT NULL,
  selector TEXT NOT NULL,
  priority INTEGER NOT NULL,
  sequence INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO plug VALUES ('p', 'deny', 'all', -5, 3);
CREATE TABLE parameter (
  plug TEXT NOT NULL REFERENCES plug ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (plug, name)) WITHOUT ROWID;
INSERT INTO parameter VALUES ('p', 'exception', 'TRANSIENT');
CREATE TABLE mapping (
  plug TEXT NOT NULL REFERENCES plug ON DELETE CASCADE,
  position INTEGER NOT NULL,
  operation TEXT NOT NULL,
  phase TEXT NOT NULL CHECK (phase IN ('up', 'down')),
  method TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  PRIMARY KEY (plug, position)) WITHOUT ROWID;
INSERT INTO mapping VALUES ('p', 0, '*', 'up', 'deny', 1);
CREATE TABLE history (
  revision INTEGER PRIMARY KEY,
  committed_at INTEGER NOT NULL,
  changes TEXT NOT NULL);
INSERT INTO history VALUES (12, 99, '{"changes":[{"unplug":{"name":"q"}}]}');
PRAGMA application_id = 0x57656972;
PRAGMA user_version = 1;
)sql");
  filters::State state;
  state.revision = 12;
  state.next_sequence = 4;
  state.plugs = {{.name = "p",
                  .filter = "deny",
                  .parameters = {{"exception", "TRANSIENT"}},
                  .selector = "all",
                  .priority = -5,
                  .sequence = 3,
                  .mappings = {{"*", filters::Phase::kUp, "deny", true}}}};
  {
    auto store = Open();
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(*(*store)->Load(), state);
    EXPECT_EQ((*store)->History(0)->size(), 1u);
    state.revision = 13;
    state.plugs[0].down_priority = 1;
    state.plugs[0].before = {"q"};
    ASSERT_TRUE((*store)->Commit(12, state, kChanges, 100).ok());
  }
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*(*again)->Load(), state);
}

TEST_F(SqliteStoreTest, ASecondProcessCannotOpenTheFile) {
  auto store = Open();
  ASSERT_TRUE(store.ok()) << store.status();
  // The locks are the process's, so it must really be another one.
  const pid_t child = fork();
  if (child == 0) {
    auto second = Open();
    const bool right = second.status().code() == absl::StatusCode::kAborted &&
                       Message(second.status()).find(file) != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the second process was not refused as it should be";
  store->reset();
  EXPECT_TRUE(Open().ok()) << "the lock must go with its owner";
}

TEST_F(SqliteStoreTest, AReadOnlyFileIsNamed) {
  ASSERT_TRUE(Open().ok());
  ASSERT_EQ(chmod(file.c_str(), 0444), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may write anything by its capabilities; without them the mode counts.
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) _exit(2);
    const absl::Status status = Open().status();
    const bool right = status.code() == absl::StatusCode::kPermissionDenied &&
                       Message(status).find(file) != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SqliteStoreTest, AFullStoreRefusesTheCommitAndKeepsTheLastOne) {
  auto store = Open({.max_bytes = 128 << 10});
  ASSERT_TRUE(store.ok()) << store.status();
  uint64_t revision = 0;
  absl::Status status;
  while (status.ok() && revision < 10'000) {
    status = (*store)->Commit(revision, StateWith(revision + 1, 10 * (revision + 1)), kChanges, 7);
    if (status.ok()) ++revision;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr(file));
  ASSERT_GT(revision, 0u);
  EXPECT_EQ(*(*store)->Load(), StateWith(revision, 10 * revision));
  // It goes on when there is room again.
  EXPECT_TRUE((*store)->Commit(revision, StateWith(revision + 1, 1), kChanges, 7).ok());
}

TEST_F(SqliteStoreTest, ANameThatIsSpecialToSqliteIsAFileHere) {
  ASSERT_EQ(chdir(dir.path().c_str()), 0);
  file = ":memory:";
  ASSERT_TRUE((*Open())->Commit(0, StateWith(1, 1), kChanges, 7).ok());
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Load()->revision, 1u);
}

TEST_F(SqliteStoreTest, TextThatIsNotUtf8IsRefusedAndNothingIsStored) {
  auto store = Open();
  ASSERT_TRUE(store.ok());
  const absl::Status status =
      (*store)->Commit(0, StateWith(1, 1), {filters::UnplugChange{"\xff"}}, 7);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ((*store)->Load()->revision, 0u);
}

}  // namespace
}  // namespace weir::control
