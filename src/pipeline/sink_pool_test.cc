// SPDX-License-Identifier: Apache-2.0
// One sink with its workers, without lanes: retries, delays, order, ends.
#include "pipeline/sink_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/seeded_random.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::Capture;
using testing::CaptureSink;
using testing::CaptureSinkOptions;

constexpr PartitionId kPartition{0};

// "warn 503 30s": level, error and how long writes have failed, of each line. Thread-safe.
class Lines final : public LogSink {
 public:
  void write(LogLevel level, std::string_view, std::string_view, std::initializer_list<LogField> fields) override {
    const MutexLock lock(mutex_);
    std::string line = level == LogLevel::warn ? "warn" : level == LogLevel::debug ? "debug" : "other";
    std::string failing_for;
    for (const LogField& field : fields) {
      if (field.key == "error") line.append(" ").append(field.value);
      if (field.key == "failing_for" || field.key == "failed_for") failing_for = field.value;
    }
    if (!failing_for.empty()) lines_.push_back(line + " " + failing_for);
  }
  std::vector<std::string> take() {
    const MutexLock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> lines_ MILLRACE_GUARDED_BY(mutex_);
};

struct SinkPoolTest : ::testing::Test {
  testing::ManualClock clock;
  testing::SeededRandom random{7};
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  std::shared_ptr<InflightBudget> budget = std::make_shared<InflightBudget>(1U << 20U);
  std::shared_ptr<RunBoard> board = std::make_shared<RunBoard>(std::make_shared<EventCount>(), Logger());
  Checkpointer checkpointer{Waker(board->control())};
  AckIssuer issuer = checkpointer.issuer();
  std::int64_t next = 0;

  SinkPoolTest() { std::ignore = checkpointer.begin_epoch(std::vector{PartitionId(0), PartitionId(1)}); }

  std::unique_ptr<SinkPool> open(CaptureSinkOptions options = {}) {
    SinkContext context;
    context.clock = &clock;
    context.random = &random;
    context.log = Logger(log, "sink out", LogLevel::debug);
    auto pool = SinkPool::open({"out", *CaptureSink::make(capture, std::move(options)), context, budget, board});
    EXPECT_TRUE(pool.has_value());
    return *std::move(pool);
  }
  void push(SinkPool& pool, PartitionId partition = kPartition) {
    SealedBatch batch;
    batch.chunk.partition = partition;
    batch.chunk.records = 1;
    batch.chunk.bytes.append("x\n");
    batch.chunk.first_offset = batch.chunk.last_offset = Offset(next);
    batch.chunk.acks.add(issuer.issue(partition, Offset(next)));
    batch.token = {LaneId(partition.value()), static_cast<std::uint64_t>(next++)};
    ASSERT_TRUE(pool.queue().try_push(batch));
  }
  // Waits until `count` batches have resolved; returns how many of them failed.
  std::uint64_t resolved(std::uint64_t count) {
    std::uint64_t failed = 0;
    for (std::uint64_t applied = 0; applied < count;) {
      const EventCount::Ticket ticket = board->control()->ticket();
      const Checkpointer::Drained drained = checkpointer.drain();
      applied += drained.applied;
      failed += drained.failed;
      if (applied < count) {
        EXPECT_TRUE(board->control()->wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::minutes(1)));
      }
    }
    return failed;
  }
};

TEST_F(SinkPoolTest, INV1_AnAckIsToldOnlyAfterItsWrite) {
  auto pool = open();
  pool->start();
  capture->hold();
  push(*pool);
  ASSERT_TRUE(capture->wait_for_held(1));
  EXPECT_EQ(checkpointer.drain().applied, 0U);
  capture->release();
  EXPECT_EQ(resolved(1), 0U);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  EXPECT_TRUE(capture->closed());
  EXPECT_EQ(budget->used(), 0U);
}

// H01: retried for as long as it takes, never at once, never later than the cap, the same batch each time.
TEST_F(SinkPoolTest, H01_StallTriesUntilItSucceeds) {
  CaptureSinkOptions options;
  options.retry.backoff = {seconds(1), seconds(60), 2.0};
  options.retry.max_attempts = 1;
  auto pool = open(options);
  pool->start();
  capture->fail_next(20, Error::retryable(ErrorCode::throttled, "503 SlowDown"));
  push(*pool);
  for (std::size_t tries = 1; tries <= 20; ++tries) {
    ASSERT_TRUE(capture->wait_for_tries(tries));
    clock.wait_for_sleepers(1);  // not tried again at once
    EXPECT_EQ(board->write_error(), "503 SlowDown");
    clock.advance(seconds(60));
  }
  EXPECT_EQ(resolved(1), 0U);
  EXPECT_EQ(board->write_retries.load(), 20U);
  EXPECT_EQ(capture->batches().size(), 1U);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  EXPECT_EQ(board->retrying.load(), 0U);
  EXPECT_EQ(board->write_error(), "");
}

// Tries at 0, 4 and 8 seconds; the next would begin at 12.
TEST_F(SinkPoolTest, NoTryOfABurstBeginsBehindItsDeadline) {
  CaptureSinkOptions options;
  options.retry.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(1), 1.0};
  options.retry.max_attempts = 1000;
  options.retry.deadline = seconds(10);
  options.retry.on_failure = OnWriteFailure::fail;
  auto pool = open(options);
  pool->start();
  capture->fail_next(1000, Error::retryable(ErrorCode::throttled, "503 SlowDown").with_retry_after(seconds(4)));
  push(*pool);
  for (std::size_t tries = 1; tries <= 2; ++tries) {
    ASSERT_TRUE(capture->wait_for_tries(tries));
    clock.wait_for_sleepers(1);
    clock.advance(seconds(4));
  }
  EXPECT_EQ(resolved(1), 1U);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  EXPECT_EQ(capture->tries().size(), 3U);
  ASSERT_TRUE(board->error());
  EXPECT_NE(board->error()->message().find("given up after 3 tries in 8.0 s, as the next one would begin in 4.0 s"),
            std::string::npos)
      << board->error()->message();
}

TEST_F(SinkPoolTest, H01_RetryAfterIsHonoured) {
  CaptureSinkOptions options;
  options.retry.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(1), 1.0};
  auto pool = open(options);
  pool->start();
  capture->fail_next(1, Error::retryable(ErrorCode::throttled, "503").with_retry_after(seconds(30)));
  push(*pool);
  ASSERT_TRUE(capture->wait_for_tries(1));
  clock.wait_for_sleepers(1);
  clock.advance(seconds(29));
  clock.wait_for_sleepers(1);
  EXPECT_EQ(capture->tries().size(), 1U);
  clock.advance(seconds(1));
  EXPECT_EQ(resolved(1), 0U);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
}

// Of an outage the first failure of each kind is said at warn, the others at debug; the next outage is said anew.
TEST_F(SinkPoolTest, TheFirstRetryOfItsKindWarns) {
  CaptureSinkOptions options;
  options.retry.backoff = {seconds(1), seconds(1), 1.0};
  auto pool = open(options);
  pool->start();
  const auto outage = [&] {
    const std::size_t tries = capture->tries().size();
    capture->fail_next(2, Error::retryable(ErrorCode::throttled, "503"));
    capture->fail_next(2, Error::retryable(ErrorCode::unreachable, "no route"));
    capture->fail_next(1, Error::retryable(ErrorCode::throttled, "503"));
    push(*pool);
    for (std::size_t i = 1; i <= 5; ++i) {
      ASSERT_TRUE(capture->wait_for_tries(tries + i));
      clock.wait_for_sleepers(1);
      clock.advance(seconds(1));
    }
    EXPECT_EQ(resolved(1), 0U);
  };
  const std::vector<std::string> said{"warn 503 0s", "debug 503 1s", "warn no route 2s", "debug no route 3s",
                                      "debug 503 4s"};
  outage();
  EXPECT_EQ(log->take(), said);
  outage();
  EXPECT_EQ(log->take(), said);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
}

// H01: a sink that takes nothing is told of each 30 s, with for how long, and that it takes writes again.
TEST_F(SinkPoolTest, H01_ALongOutageIsToldOfAgainAndItsEnd) {
  CaptureSinkOptions options;
  options.retry.backoff = {seconds(10), seconds(10), 1.0};
  auto pool = open(options);
  pool->start();
  capture->fail_next(7, Error::retryable(ErrorCode::throttled, "503"));
  push(*pool);
  for (std::size_t tries = 1; tries <= 7; ++tries) {
    ASSERT_TRUE(capture->wait_for_tries(tries));
    clock.wait_for_sleepers(1);
    clock.advance(seconds(10));
  }
  EXPECT_EQ(resolved(1), 0U);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  const std::vector<std::string> said{"warn 503 0s",   "debug 503 10s", "debug 503 20s", "warn 503 30s",
                                      "debug 503 40s", "debug 503 50s", "warn 503 60s",  "other 70s"};
  EXPECT_EQ(log->take(), said);
}

TEST_F(SinkPoolTest, AFatalErrorEndsTheTriesAndNothingBehindItIsWritten) {
  auto pool = open();
  capture->fail_next(1, Error::fatal(ErrorCode::permission_denied, "403 AccessDenied"));
  push(*pool);
  push(*pool);
  push(*pool, PartitionId(1));
  pool->start();
  EXPECT_EQ(resolved(3), 2U);
  EXPECT_EQ(capture->tries().size(), 2U);
  ASSERT_TRUE(board->error());
  EXPECT_EQ(board->error()->code(), ErrorCode::permission_denied);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
}

TEST_F(SinkPoolTest, INV1_WhatIsLeftInTheQueueAtTheEndFails) {
  auto pool = open();
  push(*pool);
  push(*pool);
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  EXPECT_EQ(resolved(2), 2U);
  EXPECT_EQ(board->batches_abandoned.load(), 2U);
  EXPECT_FALSE(board->has_error());  // the end of a run is no fault of the sink
  EXPECT_EQ(budget->used(), 0U);
}

TEST_F(SinkPoolTest, AnOrderedSinkWritesAPartitionInOrderWithSeveralWriters) {
  CaptureSinkOptions options;
  options.traits = {.concurrency = 3, .ordered = true};
  auto pool = open(options);
  pool->start();
  for (int i = 0; i < 200; ++i) push(*pool, PartitionId(static_cast<std::uint32_t>(i % 2)));
  EXPECT_EQ(resolved(200), 0U);
  std::vector<std::int64_t> last{-1, -1};
  for (const auto& batch : capture->batches()) {
    ASSERT_GT(batch.first_offset.value(), last.at(batch.partition.value()));
    last.at(batch.partition.value()) = batch.first_offset.value();
  }
  EXPECT_TRUE(pool->close(clock.now()).has_value());
  EXPECT_EQ(capture->closed_writers(), 3U);
}

TEST_F(SinkPoolTest, APoolThatNeverStartedClosesItsWriters) {
  open().reset();
  EXPECT_EQ(capture->closed_writers(), 1U);
  EXPECT_TRUE(capture->closed());
}

TEST_F(SinkPoolTest, K22_AnErrorOnClosingIsSaid) {
  auto pool = open();
  pool->start();
  capture->fail_close(Error::fatal(ErrorCode::io, "the disk is gone"));
  const Result<void> closed = pool->close(clock.now());
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().message(), "sink out: the disk is gone");
}

}  // namespace
}  // namespace millrace
