// SPDX-License-Identifier: Apache-2.0
#include "postgres_sink.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "session.h"

using millrace::Error;
using millrace::ErrorCode;
using millrace::fail;
using millrace::Offset;
using millrace::PartitionId;
using millrace::Result;
using millrace::SealedBatch;

namespace {

// What the table holds already: of each partition of a pipeline, every record before next_offset. `run` is the run that
// may load now, `batch` the last batch that it has loaded.
constexpr const char* kMakePositions = R"(
CREATE TABLE IF NOT EXISTS millrace_positions (
  pipeline text, target text, partition bigint, lineage text NOT NULL, next_offset bigint NOT NULL,
  run text NOT NULL, batch text NOT NULL, PRIMARY KEY (pipeline, target, partition)))";

// A run takes a partition over. It waits for a transaction of the one before that is under way, and from here on that
// one loads nothing more. No row: the offsets count something else.
constexpr const char* kTakeOver = R"(
INSERT INTO millrace_positions AS p VALUES ($1, $2, $3, $4, $5, $6, '')
ON CONFLICT (pipeline, target, partition) DO UPDATE SET run = $6, batch = '' WHERE p.lineage = $4
RETURNING next_offset)";

constexpr const char* kMove = R"(
UPDATE millrace_positions SET next_offset = $6, batch = $7
WHERE pipeline = $1 AND target = $2 AND partition = $3 AND run = $4 AND next_offset <= $5)";

constexpr const char* kLook = R"(
SELECT lineage, next_offset, run, batch FROM millrace_positions
WHERE pipeline = $1 AND target = $2 AND partition = $3)";

std::string text(std::int64_t number) { return std::to_string(number); }
std::string text(PartitionId partition) { return std::to_string(partition.value()); }

// What the writers of a run have in common.
struct Target {
  PostgresSinkOptions options;
  std::string pipeline;
  std::string run;    // of this process, in hex: no other run has it
  std::string copy;   // the COPY command
  std::string place;  // "table orders of shop at 127.0.0.1:5432"
};

class PostgresWriter final : public millrace::Writer {
 public:
  explicit PostgresWriter(std::shared_ptr<const Target> target) : target_(std::move(target)) {}

  // Before the first batch of a partition: which of its records the table has already. The engine leaves these out.
  Result<millrace::Recall> recall(PartitionId partition, Offset from, const millrace::Origin* origin) override {
    Result<millrace::Recall> recalled = ask(partition, from, origin != nullptr ? origin->lineage : "");
    if (!recalled) session_.disconnect();
    return recalled;
  }

  // Durable on success. Whatever fails, the connection goes, and the server takes back what was not committed.
  Result<millrace::Receipt> write(SealedBatch& batch) override {
    const Result<void> loaded = load(batch);
    if (loaded) return millrace::Receipt{target_->place, batch.size()};
    session_.disconnect();
    return fail(Error(loaded.error()).prefixed(target_->place + ": "));
  }

  void cancel() override { session_.cancel(); }

 private:
  Result<millrace::Recall> ask(PartitionId partition, Offset from, const std::string& lineage) {
    const Target& to = *target_;
    MILLRACE_TRY(session_.connect(to.options.connection));
    MILLRACE_ASSIGN(const auto taken, session_.run(kTakeOver, {to.pipeline, to.options.table, text(partition), lineage,
                                                               text(from.value()), to.run}));
    if (taken.rows.empty()) {
      return fail(Error::fatal(ErrorCode::drift,
                               to.place + " holds records of pipeline '" + to.pipeline + "', partition " +
                                   text(partition) + ", whose offsets counted something other than '" + lineage +
                                   "': give this pipeline another name, or remove its row of millrace_positions"));
    }
    millrace::Recall recall;
    MILLRACE_ASSIGN(recall.floor, offset(taken.rows[0][0]));
    return recall;
  }

  // The rows and the position behind them in one transaction: both, or neither.
  Result<void> load(SealedBatch& batch) {
    const Target& to = *target_;
    const millrace::EncodedChunk& chunk = batch.chunk;
    const std::string next = text(one_past(chunk.last_offset).value());
    const std::string name = text(batch.token.lane.value()) + "/" + std::to_string(batch.token.sequence);
    MILLRACE_ASSIGN(const std::string_view rows, batch.body());
    MILLRACE_TRY(session_.connect(to.options.connection));
    MILLRACE_TRY(session_.run("BEGIN"));
    MILLRACE_ASSIGN(const auto moved, session_.run(kMove, {to.pipeline, to.options.table, text(chunk.partition), to.run,
                                                           text(chunk.first_offset.value()), next, name}));
    if (moved.changed == 0) {
      MILLRACE_TRY(session_.run("ROLLBACK"));
      return is_there(chunk.partition, next, name);
    }
    MILLRACE_TRY(session_.copy(to.copy, rows));
    MILLRACE_TRY(session_.run("COMMIT"));
    return {};
  }

  // The position does not let this batch in. One reason is good: it is there, and the answer to its commit was lost.
  Result<void> is_there(PartitionId partition, const std::string& next, const std::string& name) {
    const Target& to = *target_;
    MILLRACE_ASSIGN(const auto found, session_.run(kLook, {to.pipeline, to.options.table, text(partition)}));
    if (found.rows.empty()) {
      return fail(Error::fatal(ErrorCode::fenced, "its row of millrace_positions was removed while this run loaded"));
    }
    const std::vector<std::string>& row = found.rows[0];
    if (row[2] != to.run) {
      return fail(Error::fatal(ErrorCode::fenced, "another run of pipeline '" + to.pipeline + "' has taken partition " +
                                                      text(partition) + " over; this one loads nothing more of it"));
    }
    if (row[1] == next && row[3] == name) return {};
    return fail(Error::fatal(ErrorCode::internal, "batch " + name + " ends before " + next + ", and the table is at " +
                                                      row[1] + " after batch " + row[3]));
  }

  static Result<Offset> offset(const std::string& digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return Offset(value);
    return fail(Error::fatal(ErrorCode::corrupt, "millrace_positions: '" + digits + "' is no offset"));
  }

  const std::shared_ptr<const Target> target_;
  Session session_;
};

class TableSink final : public millrace::Sink {
 public:
  explicit TableSink(PostgresSinkOptions options) : options_(std::move(options)) {}

  std::string_view type() const override { return "postgres"; }

  Result<void> open(millrace::SinkContext context) override {
    Session session;
    MILLRACE_TRY(session.connect(options_.connection));
    auto target = std::make_shared<Target>();
    target->options = options_;
    target->pipeline = context.pipeline;
    target->run = std::to_string(context.random->next());
    target->place = "table " + options_.table + " of " + session.place();
    const std::string table = session.quoted(options_.table);
    const std::string column = session.quoted(options_.column);
    // A line is one value, whatever is in it: JSON has no control characters, so nothing delimits or quotes.
    target->copy = "COPY " + table + " (" + column + R"() FROM STDIN (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01'))";
    if (auto there = session.run("SELECT " + column + " FROM " + table + " LIMIT 0"); !there) {
      return fail(std::move(there).error().prefixed(target->place + ", column " + options_.column + " (CREATE TABLE " +
                                                    table + " (" + column + " jsonb)): "));
    }
    // Of two runs that begin at once one waits: IF NOT EXISTS alone lets both create it, and one fail.
    MILLRACE_TRY(session.run("BEGIN"));
    MILLRACE_TRY(session.run("SELECT pg_advisory_xact_lock(hashtext('millrace_positions'))"));
    MILLRACE_TRY(session.run(kMakePositions));
    MILLRACE_TRY(session.run("COMMIT"));
    target_ = std::move(target);
    return {};
  }

  Result<std::unique_ptr<millrace::Writer>> make_writer() override { return std::make_unique<PostgresWriter>(target_); }
  millrace::SealPolicy seal_policy() const override { return {.max_age = options_.max_age}; }
  // Of a partition one batch at a time, and the table is asked what it holds before the first.
  millrace::SinkTraits traits() const override {
    return {.concurrency = options_.writers, .ordered = true, .recalls = true};
  }

 private:
  const PostgresSinkOptions options_;
  std::shared_ptr<const Target> target_;
};

}  // namespace

Result<std::unique_ptr<millrace::Sink>> PostgresSink::make(PostgresSinkOptions options) {
  if (options.connection.empty()) {
    return fail(Error::config("PostgresSink: connection is empty: give an address, as in postgresql://localhost/shop"));
  }
  if (options.table.empty() || options.column.empty()) {
    return fail(Error::config("PostgresSink: table and column must have a name"));
  }
  if (options.writers == 0) return fail(Error::config("PostgresSink: writers is 0, and somebody has to load"));
  return std::make_unique<TableSink>(std::move(options));
}
