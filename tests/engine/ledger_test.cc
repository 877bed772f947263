// SPDX-License-Identifier: Apache-2.0
// A source that keeps account of its records over a whole run: at each commit it is told what became of everything
// behind the watermarks, and where it went, before or when they move and never later.
#include <gtest/gtest.h>

#include <map>

#include "engine_fixture.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/compile.h"

namespace millrace::testing {
namespace {

/// What the ledger said, by the commits. Kept by the test.
struct Accounts {
  Mutex mutex;
  std::map<PartitionId, std::int64_t> accounted MILLRACE_GUARDED_BY(mutex);  // offsets below
  RecordFates fates MILLRACE_GUARDED_BY(mutex);
  std::map<std::string, std::uint64_t> landed MILLRACE_GUARDED_BY(mutex);  // records by sink
  std::uint64_t dropped MILLRACE_GUARDED_BY(mutex) = 0;
  std::vector<std::string> wrong MILLRACE_GUARDED_BY(mutex);
};

/// A MemorySource that keeps account.
class AccountingSource final : public Source {
 public:
  AccountingSource(std::shared_ptr<MemoryTopic> topic, MemorySourceOptions options, std::shared_ptr<Accounts> accounts)
      : source_(std::move(topic), std::move(options)), accounts_(std::move(accounts)) {}

  Result<void> open(SourceContext context) override {
    ledger_ = context.ledger;
    return source_.open(std::move(context));
  }
  Result<SourceEvent> poll_events(Duration timeout) override { return source_.poll_events(timeout); }
  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    const MutexLock lock(accounts_->mutex);
    for (const PartitionWatermark& moved : watermarks) {
      auto settled = ledger_->take(moved.partition, moved.watermark);
      std::int64_t& told = accounts_->accounted[moved.partition];
      for (const RecordAccount& account : settled.accounts) {
        if (account.first.value() != told) accounts_->wrong.push_back("a gap before " + std::to_string(told));
        told = account.last.value() + 1;
        accounts_->fates += account.fates;
      }
      if (told != moved.watermark.value()) accounts_->wrong.push_back("told to " + std::to_string(told));
      for (const Landing& landing : settled.landings) {
        (landing.dropped ? accounts_->dropped : accounts_->landed[landing.sink]) += landing.records;
      }
    }
    // What is behind a watermark is durable, and where has been told.
    std::uint64_t told = accounts_->dropped;
    for (const auto& [sink, records] : accounts_->landed) told += records;
    if (told < accounts_->fates.encoded) accounts_->wrong.push_back("places of " + std::to_string(told) + " records");
    return source_.commit(watermarks);
  }
  Result<void> flush_commits() override { return source_.flush_commits(); }
  void pause(std::span<const LaneId> lanes) override { source_.pause(lanes); }
  void resume(std::span<const LaneId> lanes) override { source_.resume(lanes); }
  void revoked(std::span<const LaneId> lanes) override { source_.revoked(lanes); }
  void close() override { source_.close(); }
  [[nodiscard]] bool bounded() const override { return source_.bounded(); }
  [[nodiscard]] bool keeps_account() const override { return true; }

 private:
  MemorySource source_;
  const std::shared_ptr<Accounts> accounts_;
  std::shared_ptr<Ledger> ledger_;
};

struct LedgerTest : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>();
  MemorySourceOptions options;
  LedgerTest() { options.batch_records = 7; }

  // Records that end in 3 are filtered, those that end in 5 are skipped; the rest goes to both sinks.
  static ChainFactory chain() {
    return [](const ChainContext& context) {
      const auto refuse = [](std::string_view text) -> Result<std::string> {
        if (text.ends_with('5')) return fail(Error::record(ErrorCode::malformed, "5"));
        return std::string(text);
      };
      return compile(decode::raw() | ops::filter([](std::string_view text) { return !text.ends_with('3'); }) |
                         ops::try_map(refuse, {.on_error = OnError::skip}) |
                         ops::fan_out(encode::raw({.delimiter = "\n"}).to("a"), encode::raw().to("b")),
                     context);
    };
  }
  RunReport run(std::shared_ptr<MemoryTopic> topic, CaptureSinkOptions first) {
    Pipeline pipeline(quick());
    pipeline.sink("a", CaptureSink::make(capture, std::move(first)))
        .sink("b", CaptureSink::make(std::make_shared<Capture>(), small_chunks(4)))
        .chain_factory(chain());
    return pipeline.run(std::make_unique<AccountingSource>(std::move(topic), options, accounts));
  }
};

TEST_F(LedgerTest, INV6_EveryRecordIsAccountedForAcrossRetriesAndLanes) {
  auto topic = filled(4, 1000);
  topic->end();
  capture->fail_next(20, Error::retryable(ErrorCode::unavailable, "503"));
  const RunReport report = run(topic, small_chunks(9));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  const MutexLock lock(accounts->mutex);
  EXPECT_TRUE(accounts->wrong.empty()) << accounts->wrong.front();
  const RecordFates expected{
      .in = 4000, .out = 3200, .filtered = 400, .skipped = {{ErrorCode::malformed, 400}}, .encoded = 6400};
  EXPECT_EQ(accounts->fates, expected);
  EXPECT_EQ(accounts->landed, (std::map<std::string, std::uint64_t>{{"sink a", 3200}, {"sink b", 3200}}));
  EXPECT_EQ(accounts->dropped, 0U);
}

TEST_F(LedgerTest, WhatIsDroppedOnTheOperatorsWordIsNotCalledWritten) {
  auto topic = filled(1, 100);
  topic->end();
  capture->fail_next(1, Error::fatal(ErrorCode::permission_denied, "403"));
  CaptureSinkOptions sink = small_chunks(8);
  sink.retry.on_failure = OnWriteFailure::drop;
  const RunReport report = run(topic, sink);
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  const MutexLock lock(accounts->mutex);
  EXPECT_TRUE(accounts->wrong.empty()) << accounts->wrong.front();
  EXPECT_GT(accounts->dropped, 0U);
  EXPECT_EQ(accounts->landed["sink a"] + accounts->dropped, 80U);
  EXPECT_EQ(accounts->landed["sink b"], 80U);
}

// What a lane had read when it was taken away, and had not written, is told when it has been read again, once.
TEST_F(LedgerTest, INV5_LanesThatComeAndGoTellEachRecordOnce) {
  auto topic = filled(2, 300);
  options.bounded = false;
  options.assign_all = false;
  const auto both = std::vector{partition(0), partition(1)};
  for (int turn = 0; turn < 8; ++turn) {
    options.script->then(MemoryScript::assign(both));
    options.script->then([](MemorySource&) -> Result<SourceEvent> { return LanesRevoked{{}, nullptr}; });
    options.script->then(turn % 2 == 0 ? MemoryScript::revoke({lane(0), lane(1)})
                                       : MemoryScript::revoke_inside({lane(0), lane(1)}));
  }
  options.script->then(MemoryScript::assign(both));
  options.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  const RunReport report = run(topic, small_chunks(9));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  const MutexLock lock(accounts->mutex);
  EXPECT_TRUE(accounts->wrong.empty()) << accounts->wrong.front();
  EXPECT_EQ(
      accounts->fates,
      (RecordFates{.in = 600, .out = 480, .filtered = 60, .skipped = {{ErrorCode::malformed, 60}}, .encoded = 960}));
}

}  // namespace
}  // namespace millrace::testing
