// SPDX-License-Identifier: Apache-2.0
// examples/postgres_sink against a real server: every rule of a sink, replays, lost connections, two runs at once, rows
// that do not fit, and what it says when it cannot begin.
#include "postgres_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/conformance_tests.h"
#include "millrace/testing/memory_source.h"
#include "millrace/testing/sink_conformance.h"

namespace millrace::tutorial {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A table of one test, in which a row is as it was sent.
class Table {
 public:
  explicit Table(const std::string& columns = "data json") {
    database.run("CREATE TABLE " + name + " (" + columns + ")");
  }
  ~Table() { database.run("DROP TABLE " + name); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  std::vector<std::string> rows() { return database.run("SELECT data FROM " + name + " ORDER BY ctid"); }
  std::vector<std::string> position() {
    return database.run("SELECT partition || ' at ' || next_offset FROM millrace_positions WHERE target = '" + name +
                        "' ORDER BY 1");
  }
  [[nodiscard]] PostgresSinkOptions options(std::string pipeline_options = "") const {
    PostgresSinkOptions options;
    options.connection = Database::url() + "?application_name=" + name + pipeline_options;
    options.table = name;
    return options;
  }
  [[nodiscard]] Result<std::unique_ptr<Sink>> sink() const { return PostgresSink::make(options()); }
  /// Ends every connection that the sink has.
  void cut() {
    database.run("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = '" + name +
                 "'");
  }

  Database database;
  const std::string name = Database::fresh_name();
};

// A run of the sink, driven by hand.
class OpenSink {
 public:
  explicit OpenSink(Result<std::unique_ptr<Sink>> made) : sink_(*std::move(made)) {
    SinkContext context;
    context.pipeline = "hand";
    opened = sink_->open(std::move(context));
    if (opened) writer = *sink_->make_writer();
  }
  Result<Recall> recall(const std::string& lineage = "numbers") {
    Origin origin;
    origin.lineage = lineage;
    return writer->recall(PartitionId(0), Offset(0), &origin);
  }

  Result<void> opened;
  std::unique_ptr<Writer> writer;

 private:
  std::unique_ptr<Sink> sink_;
};

SealedBatch batch_of(std::int64_t first, std::int64_t last, std::string rows) {
  SealedBatch batch;
  batch.chunk.bytes.append(rows);
  batch.chunk.first_offset = Offset(first);
  batch.chunk.last_offset = Offset(last);
  batch.chunk.records = static_cast<std::uint64_t>(last - first + 1);
  batch.token.sequence = static_cast<std::uint64_t>(first);
  return batch;
}

RunReport run_numbers(const Table& table, int records, std::string pipeline = "numbers") {
  const auto topic = std::make_shared<testing::MemoryTopic>(2);
  for (int n = 0; n < records; ++n) topic->append(PartitionId(static_cast<std::uint32_t>(n % 2)), std::to_string(n));
  topic->end();
  Pipeline line({.name = std::move(pipeline)});
  return line.sink(table.sink())
      .chain([](const ChainContext&) { return decode::text() | encode::raw(); })
      .run(testing::MemorySource::make(topic));
}

TEST(PostgresSink, WhatARunHasLoadedTheNextOneLeavesOut) {
  Table table;
  const RunReport first = run_numbers(table, 6);
  EXPECT_EQ(first.state, ExitState::completed) << (first.error ? first.error->describe() : "");
  EXPECT_EQ(first.records_out, 6U);
  EXPECT_THAT(table.position(), ElementsAre("0 at 3", "1 at 3"));
  // The topic of the second run knows of no commit: it gives everything again, and more.
  const RunReport second = run_numbers(table, 10);
  EXPECT_EQ(second.state, ExitState::completed);
  EXPECT_EQ(second.records_out, 4U);
  EXPECT_EQ(second.records_left_out, 6U);
  EXPECT_THAT(table.rows(), ::testing::UnorderedElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_THAT(table.position(), ElementsAre("0 at 5", "1 at 5"));
  // Another pipeline has positions of its own.
  EXPECT_EQ(run_numbers(table, 2, "others").records_out, 2U);
}

TEST(PostgresSink, AConnectionThatIsLostBeforeTheCommitTakesTheRowsBack) {
  Table table("data json, CHECK (data::text <> 'null')");
  OpenSink run(table.sink());
  ASSERT_TRUE(run.recall());
  SealedBatch batch = batch_of(0, 1, "1\n2\n");
  // The server ends the connection when the rows are in and the transaction is to be committed.
  table.database.run("CREATE FUNCTION " + table.name +
                     "_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                     "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER t "
                     "AFTER INSERT ON " +
                     table.name + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + table.name +
                     "_f()");
  const auto lost = run.writer->write(batch);
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().is_retryable()) << lost.error().describe();
  EXPECT_THAT(lost.error().message(), HasSubstr("table " + table.name + " of postgres at 127.0.0.1:"));
  EXPECT_THAT(table.rows(), IsEmpty());
  EXPECT_THAT(table.position(), ElementsAre("0 at 0"));
  table.database.run("DROP TRIGGER t ON " + table.name + "; DROP FUNCTION " + table.name + "_f");
  EXPECT_TRUE(run.writer->write(batch));
  EXPECT_THAT(table.rows(), ElementsAre("1", "2"));
  // The commit's answer is lost: the engine gives the same batch again.
  table.cut();
  ASSERT_FALSE(run.writer->write(batch));
  EXPECT_TRUE(run.writer->write(batch));
  EXPECT_THAT(table.rows(), ElementsAre("1", "2"));
  EXPECT_THAT(table.position(), ElementsAre("0 at 2"));
}

TEST(PostgresSink, OfTwoRunsTheLaterOneHasThePartition) {
  Table table;
  OpenSink earlier(table.sink());
  ASSERT_TRUE(earlier.recall());
  SealedBatch first = batch_of(0, 2, "0\n1\n2\n");
  ASSERT_TRUE(earlier.writer->write(first));
  OpenSink later(table.sink());
  const auto recalled = later.recall();
  ASSERT_TRUE(recalled);
  EXPECT_EQ(recalled->floor, Offset(3));
  SealedBatch second = batch_of(3, 4, "3\n4\n");
  const auto fenced = earlier.writer->write(second);
  ASSERT_FALSE(fenced);
  EXPECT_TRUE(fenced.error().is_fatal());
  EXPECT_EQ(fenced.error().code(), ErrorCode::fenced);
  EXPECT_THAT(fenced.error().message(), HasSubstr("another run of pipeline 'hand' has taken partition 0 over"));
  EXPECT_TRUE(later.writer->write(second));
  EXPECT_THAT(table.rows(), ElementsAre("0", "1", "2", "3", "4"));
  table.database.run("DELETE FROM millrace_positions WHERE target = '" + table.name + "'");
  SealedBatch third = batch_of(5, 5, "5\n");
  const auto removed = later.writer->write(third);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code(), ErrorCode::fenced);
}

TEST(PostgresSink, OffsetsThatCountSomethingElseAreRefused) {
  Table table;
  OpenSink run(table.sink());
  ASSERT_TRUE(run.recall("http://one/orders"));
  OpenSink other(table.sink());
  const auto refused = other.recall("http://two/orders");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::drift);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("'http://two/orders'"), HasSubstr("another name")));
  // Who was refused has taken nothing over.
  SealedBatch batch = batch_of(0, 0, "1\n");
  EXPECT_TRUE(run.writer->write(batch));
}

TEST(PostgresSink, RowsThatDoNotFitEndTheRunAndLeaveNothing) {
  Table table("data jsonb");
  OpenSink run(table.sink());
  ASSERT_TRUE(run.recall());
  for (const char* rows : {"{\"a\":1}\n{\"a\":\n", "{\"a\":\"\\u0000\"}\n", "1\n\n"}) {
    SealedBatch batch = batch_of(0, 1, rows);
    const auto refused = run.writer->write(batch);
    ASSERT_FALSE(refused) << rows;
    EXPECT_TRUE(refused.error().is_fatal());
    EXPECT_EQ(refused.error().code(), ErrorCode::malformed) << refused.error().describe();
    EXPECT_THAT(refused.error().message(), HasSubstr("COPY " + table.name + ", line "));
  }
  EXPECT_THAT(table.rows(), IsEmpty());
  EXPECT_THAT(table.position(), ElementsAre("0 at 0"));
}

TEST(PostgresSink, AValueIsWhatItWasWhateverIsInIt) {
  Table table;
  OpenSink run(table.sink());
  ASSERT_TRUE(run.recall());
  const std::string odd = R"({"a":"\t\\N\\.,;'\"\u0001 é","b":[null,"\\"]})";
  SealedBatch batch = batch_of(0, 2, odd + "\n\"\\\\.\"\nnull\n");
  ASSERT_TRUE(run.writer->write(batch));
  EXPECT_THAT(table.rows(), ElementsAre(odd, R"("\\.")", "null"));
}

TEST(PostgresSink, ACommitIsOnDiskWhateverIsUsual) {
  Table table("data json, sync text DEFAULT current_setting('synchronous_commit')");
  OpenSink run(PostgresSink::make(table.options("&options=-csynchronous_commit%3Doff")));
  ASSERT_TRUE(run.recall());
  SealedBatch batch = batch_of(0, 0, "1\n");
  ASSERT_TRUE(run.writer->write(batch));
  EXPECT_THAT(table.database.run("SELECT sync FROM " + table.name), ElementsAre("on"));
}

TEST(PostgresSink, ACancelEndsAWriteThatWaits) {
  Table table;
  OpenSink run(table.sink());
  ASSERT_TRUE(run.recall());
  table.database.run("BEGIN; LOCK TABLE " + table.name + " IN ACCESS EXCLUSIVE MODE");
  Result<Receipt> written;
  {
    SealedBatch batch = batch_of(0, 0, "1\n");
    const Thread writing("writing", [&] { written = run.writer->write(batch); });
    Database watch;
    while (watch
               .run("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '" +
                    table.name + "'")
               .empty()) {
    }
    run.writer->cancel();
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::cancelled);
  table.database.run("ROLLBACK");
  EXPECT_THAT(table.rows(), IsEmpty());
}

TEST(PostgresSink, WhatCannotBeginSaysWhy) {
  Table table;
  const auto refusal = [](PostgresSinkOptions options) {
    const OpenSink run(PostgresSink::make(std::move(options)));
    return run.opened ? "opened" : run.opened.error().message();
  };
  auto options = table.options();
  options.table = "no such table";
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("table no such table of postgres at 127.0.0.1:"), HasSubstr("does not exist"),
                    HasSubstr("CREATE TABLE \"no such table\" (\"data\" jsonb)")));
  options = table.options();
  options.column = "payload";
  EXPECT_THAT(refusal(options), AllOf(HasSubstr(table.name + " of"), HasSubstr("column \"payload\" does not exist")));
  options = table.options();
  options.connection = "postgresql://someone:s3cr3t@127.0.0.1:1/shop";
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("port 1 failed"), Not(HasSubstr("s3cr3t"))));
  options.connection = "postgresql://[";
  EXPECT_THAT(refusal(options), HasSubstr("postgresql://["));
  EXPECT_EQ(refusal(table.options()), "opened");
  EXPECT_FALSE(PostgresSink::make({.connection = "", .table = "t"}));
  EXPECT_FALSE(PostgresSink::make({.connection = "x", .table = ""}));
  EXPECT_FALSE(PostgresSink::make({.connection = "x", .table = "t", .writers = 0}));
}

conformance::SinkUnderTest under_test() {
  auto table = std::make_shared<Table>();
  return {.make = [table] { return table->sink(); },
          .durable = [table] { return table->rows(); },
          .fail_next = [table] { table->cut(); },
          .keep = table};
}

const int kRules = testing::register_conformance("PostgresSinkRules", conformance::sink_rules(under_test));

}  // namespace
}  // namespace millrace::tutorial
