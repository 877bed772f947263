// SPDX-License-Identifier: Apache-2.0
// What a source is held to: one test for each line of docs/RULES.md. Each broken rule has one outcome, and names the
// lane and the rule.
#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "millrace/base/borrow.h"
#include "scripted_lane.h"

namespace millrace::testing {
namespace {

struct Rules : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<RememberingLog> log = std::make_shared<RememberingLog>();
  std::shared_ptr<MemoryTopic> topic = filled(4, 20);
  MemorySourceOptions source;
  PipelineOptions options = quick();

  Rules() {
    source.assign_all = false;
    options.drain_timeout = std::chrono::seconds(5);
  }

  RunReport run(LineChainOptions chain = {}) {
    Pipeline pipeline(options);
    pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory(std::move(chain)));
    pipeline.log(Logger(log, "test"));
    return pipeline.run(MemorySource::make(topic, source));
  }
  // One lane, 3, of partition 1, that polls as told.
  RunReport run_lane(ScriptedLane::Poll poll) {
    source.script->then([poll = std::move(poll)](MemorySource& memory) -> Result<SourceEvent> {
      LanesAssigned assigned;
      assigned.lanes.push_back(std::make_unique<ScriptedLane>(lane(3), partition(1), memory.context().acks, poll));
      return assigned;
    });
    return run();
  }
  void expect_failed(const RunReport& report, std::string_view rule) const {
    EXPECT_EQ(report.state, ExitState::failed);
    ASSERT_TRUE(report.error) << rule;
    EXPECT_EQ(report.error->code(), ErrorCode::rule_broken) << why(report);
    EXPECT_NE(report.error->message().find(rule), std::string::npos) << why(report);
  }
  void expect_failed_lane(const RunReport& report, std::string_view rule) const {
    expect_failed(report, rule);
    EXPECT_NE(report.error->message().find("lane 3 (partition 1)"), std::string::npos) << why(report);
  }
};

PayloadBatch batch_without_ack(ScriptedLane::Turn& turn, std::int64_t base, std::size_t count) {
  turn.payloads.assign(count, "payload");
  PayloadBatch batch;
  batch.payloads = turn.payloads;
  batch.partition = partition(1);
  batch.base_offset = Offset(base);
  return batch;
}

PayloadBatch batch_at(ScriptedLane::Turn& turn, std::int64_t base, std::size_t count) {
  PayloadBatch batch = batch_without_ack(turn, base, count);
  batch.ack = turn.acks.issue(partition(1), Offset(base + static_cast<std::int64_t>(count) - 1));
  return batch;
}

TEST_F(Rules, OffsetsRiseFromBatchToBatch) {
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
                       return batch_at(turn, turn.poll == 0 ? 0 : 9, 10);
                     }),
                     "offsets rise strictly; 9 comes after 9");
  EXPECT_EQ(topic->committed().at(partition(1)), Watermark(10));  // the batch before it is settled
  EXPECT_EQ(capture->lines().size(), 10U);
}

TEST_F(Rules, OffsetsAreNotNegative) {
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> { return batch_at(turn, -5, 10); }),
                     "offsets rise strictly; -5 comes after -1");
}

TEST_F(Rules, OffsetsRiseWithinABatch) {
  static const std::vector<Offset> kOffsets{Offset(1), Offset(3), Offset(3)};
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
                       PayloadBatch batch = batch_at(turn, 1, 3);
                       batch.offsets = kOffsets;
                       return batch;
                     }),
                     "offsets rise strictly within a batch");
}

TEST_F(Rules, AnAckAnswersForTheLastRecord) {
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
                       PayloadBatch batch = batch_without_ack(turn, 0, 10);
                       batch.ack = turn.acks.issue(partition(1), Offset(8));
                       return batch;
                     }),
                     "answers for its last record (9), this one ends at 8");
}

TEST_F(Rules, ABatchCarriesAnAck) {
  expect_failed_lane(
      run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> { return batch_without_ack(turn, 0, 10); }),
      "carries the AckRef issued for it");
}

TEST_F(Rules, ABatchBelongsToItsLanesPartition) {
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
                       PayloadBatch batch = batch_at(turn, 0, 10);
                       batch.partition = partition(2);
                       return batch;
                     }),
                     "this one says 2");
}

TEST_F(Rules, AnAckBelongsToItsLanesPartition) {
  source.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    for (const std::uint32_t p : {0U, 1U}) {
      assigned.lanes.push_back(std::make_unique<ScriptedLane>(lane(p + 2), partition(p), memory.context().acks,
                                                              [p](ScriptedLane::Turn turn) -> Result<PollResult> {
                                                                if (p == 0) return Idle{};
                                                                PayloadBatch batch = batch_without_ack(turn, 0, 10);
                                                                batch.ack = turn.acks.issue(partition(0), Offset(9));
                                                                return batch;
                                                              }));
    }
    return assigned;
  });
  expect_failed_lane(run(), "this one is for 0");
  EXPECT_TRUE(topic->committed().empty());
}

TEST_F(Rules, ColumnsHaveOneEntryPerPayload) {
  static const std::vector<UnixMicros> kTimes{1, 2};
  expect_failed_lane(run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
                       PayloadBatch batch = batch_at(turn, 0, 3);
                       batch.timestamps = kTimes;
                       return batch;
                     }),
                     "a column is empty or has one entry per payload (3)");
}

TEST_F(Rules, AnEmptyBatchMovesTheWatermarkAndNotBack) {
  const auto empty = [](ScriptedLane::Turn& turn, std::int64_t last) {
    PayloadBatch batch;
    batch.partition = partition(1);
    batch.ack = turn.acks.issue(partition(1), Offset(last));
    return batch;
  };
  expect_failed_lane(run_lane([empty](ScriptedLane::Turn turn) -> Result<PollResult> {
                       return empty(turn, turn.poll == 0 ? 41 : 40);
                     }),
                     "an empty batch ends at 40 after 41");
  EXPECT_EQ(topic->committed().at(partition(1)), Watermark(42));
}

TEST_F(Rules, ABatchHoldsNoMoreThanAskedFor) {
  options.max_poll_records = 5;
  const RunReport report = run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
    if (turn.poll > 2) return Exhausted{};
    return batch_at(turn, static_cast<std::int64_t>(turn.poll) * 8, 8);
  });
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_out, 24U);
  EXPECT_EQ(log->count(LogLevel::warn, "at most as many payloads as asked for"), 1U);
}

TEST_F(Rules, AnErrorOfAPollEndsTheRunWhateverItsClass) {
  const RunReport report = run_lane([](ScriptedLane::Turn turn) -> Result<PollResult> {
    if (turn.poll == 0) return batch_at(turn, 0, 10);
    return fail(Error::retryable(ErrorCode::drift, "in/a.ndjson changed"));
  });
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.error->code(), ErrorCode::drift);
  EXPECT_TRUE(report.error->is_fatal());
  EXPECT_NE(report.error->describe().find("lane=3"), std::string::npos);
  EXPECT_EQ(topic->committed().at(partition(1)), Watermark(10));
}

TEST_F(Rules, AnExhaustedLaneIsNotPolledAgain) {
  auto polls = std::make_shared<Atomic<int>>(0);
  source.script->then([polls](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<ScriptedLane>(lane(0), partition(0), memory.context().acks,
                                                            [polls](ScriptedLane::Turn) -> Result<PollResult> {
                                                              polls->fetch_add(1);
                                                              return Exhausted{};
                                                            }));
    assigned.lanes.push_back(memory.make_lane(lane(1), partition(1)));
    return assigned;
  });
  options.threads = 1;
  source.batch_records = 1;
  topic->end();
  EXPECT_EQ(run().state, ExitState::completed);
  EXPECT_EQ(polls->load(), 1);
}

TEST_F(Rules, ALaneIsHandedOutOnce) {
  source.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(memory.make_lane(lane(3), partition(0)));
    assigned.lanes.push_back(memory.make_lane(lane(3), partition(1)));
    return assigned;
  });
  expect_failed(run(), "lane 3 is handed out twice");
  EXPECT_TRUE(capture->batches().empty());
}

TEST_F(Rules, APartitionBelongsToOneLane) {
  source.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(memory.make_lane(lane(3), partition(2)));
    assigned.lanes.push_back(memory.make_lane(lane(4), partition(2)));
    return assigned;
  });
  expect_failed(run(), "partition 2 belongs to two lanes, the second is lane 4");
  EXPECT_TRUE(capture->batches().empty());
}

TEST_F(Rules, AnAssignmentHoldsNoNullLane) {
  source.script->then([](MemorySource&) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.emplace_back();
    return assigned;
  });
  expect_failed(run(), "it holds a null lane");
}

// A lane that answers at once with nothing would take a whole core. It is named once and paced; other lanes and the run
// go on. The time is a lower bound: each of the paced polls came a slice after the one before.
TEST_F(Rules, ASpinningLaneIsNamedAndPaced) {
  struct Spin {
    Atomic<int> polls{0};
    SteadyTime paced_from;
    SteadyTime paced_to;
  };
  auto spin = std::make_shared<Spin>();
  constexpr int kFrom = 150;
  constexpr int kTo = 160;
  options.threads = 1;
  options.poll_timeout = std::chrono::milliseconds(10);
  source.script->then([spin](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<ScriptedLane>(lane(3), partition(1), memory.context().acks,
                                                            [spin](ScriptedLane::Turn) -> Result<PollResult> {
                                                              const int polls = spin->polls.fetch_add(1);
                                                              if (polls == kFrom)
                                                                spin->paced_from = Clock::real().now();
                                                              if (polls == kTo) spin->paced_to = Clock::real().now();
                                                              if (polls > kTo) return Exhausted{};
                                                              return Idle{};
                                                            }));
    return assigned;
  });
  EXPECT_EQ(run().state, ExitState::completed);
  EXPECT_EQ(log->count(LogLevel::warn, "a lane breaks a rule of sources"), 1U);
  EXPECT_EQ(log->count(LogLevel::warn, "lane=3"), 1U);
  EXPECT_GE(spin->paced_to - spin->paced_from, (kTo - kFrom - 1) * options.poll_timeout);
}

TEST_F(Rules, ASlowEventLoopIsNamed) {
  ManualClock clock;
  source.script->then([&clock](MemorySource& memory) -> Result<SourceEvent> {
    clock.advance(std::chrono::seconds(6));
    memory.topic().end();
    return MemoryScript::assign({partition(0)})(memory);
  });
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory()).clock(clock);
  pipeline.log(Logger(log, "test"));
  EXPECT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::completed);
  EXPECT_EQ(log->count(LogLevel::warn, "poll_events does not block"), 1U);
}

TEST_F(Rules, ADeltaAssignmentAndAForgottenRevocationAreNamed) {
  source.script->then(MemoryScript::assign({partition(0)}));
  source.script->then(MemoryScript::assign({partition(0), partition(1)}));
  source.script->then(MemoryScript::revoke({lane(9)}));
  source.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    const std::vector lanes{lane(1)};
    std::ignore = memory.context().begin_revocation(lanes);
    memory.topic().end();
    return Finished{};
  });
  EXPECT_EQ(run().state, ExitState::completed);
  EXPECT_EQ(log->count(LogLevel::warn, "an assignment describes all lanes"), 1U);
  EXPECT_EQ(log->count(LogLevel::warn, "not assigned lane=9"), 1U);
  EXPECT_EQ(log->count(LogLevel::warn, "a revocation that was begun ends with LanesRevoked"), 1U);
}

// A payload that outlives its poll: test lanes poison what they lent (other builds overwrite it).
TEST_F(Rules, APayloadDoesNotOutliveItsPoll) {
  auto kept = std::make_shared<std::vector<std::string_view>>();  // one lane, so one thread
  auto seen = std::make_shared<std::size_t>(0);
  LineChainOptions chain;
  chain.look = [kept, seen](std::string_view payload, const RecordMeta&) {
    if (!kept->empty()) {
#if defined(MILLRACE_ASAN)
      *seen += static_cast<std::size_t>(
          __asan_region_is_poisoned(const_cast<char*>(kept->back().data()), kept->back().size()) != nullptr);
#else
      *seen += static_cast<std::size_t>(kept->back() != payload_of(0, kept->size() - 1));
#endif
    }
    kept->push_back(payload);
    return LineAction::write;
  };
  source.script->then(MemoryScript::assign({partition(0)}));
  source.batch_records = 1;
  topic->end();
  EXPECT_EQ(run(chain).state, ExitState::completed);
  EXPECT_EQ(*seen, 19U);
}

}  // namespace
}  // namespace millrace::testing
