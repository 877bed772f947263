// SPDX-License-Identifier: Apache-2.0
// Lanes that are given and taken while data is in flight: what a rebalance may cost, and what it must not (INV-5, K04).
#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "millrace/testing/seeded_random.h"
#include "scripted_lane.h"

namespace millrace::testing {
namespace {

struct RevocationTest : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  MemoryScript& script() const { return *source.script; }

  RevocationTest() { source.bounded = false; }

  bool wait_for_revoked(std::size_t lanes) const {
    return script().wait_until([lanes](const auto& seen) { return seen.revoked.size() >= lanes; });
  }
  static CaptureSinkOptions open_for_long() {
    CaptureSinkOptions options;
    options.policy.max_bytes = 1U << 30U;
    return options;
  }
};

// K04: what is open or in flight is sealed, written and committed before the source is told that its lanes are gone.
TEST_F(RevocationTest, INV1_K04_RevokedLanesAreDrainedAndCommitted) {
  auto topic = filled(3, 100);
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, open_for_long())).chain_factory(LineChain::factory());
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(script().wait_until([](const auto& seen) { return seen.opened; }));
  script().then(MemoryScript::revoke({lane(1), lane(2)}));
  ASSERT_TRUE(wait_for_revoked(2));
  // Whatever of the lanes was read is written and committed, no more and no less.
  const auto committed = topic->committed();
  std::map<std::uint32_t, std::int64_t> written;
  for (const CapturedBatch& batch : capture->batches()) {
    EXPECT_EQ(batch.reason, SealReason::drain);
    written[batch.partition.value()] = batch.last_offset.value() + 1;
  }
  for (const std::uint32_t p : {1U, 2U}) {
    const auto found = committed.find(partition(p));
    EXPECT_EQ(found == committed.end() ? 0 : found->second.value(), written[p]);
  }
  EXPECT_GE(topic->flushes(), 1U);
  pipeline.stop_handle().request();
  EXPECT_EQ(run.join().state, ExitState::stopped);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(100));
}

// A source that is told inside its own poll that lanes must go, waits on the barrier there and commits by itself: no
// deadlock, and the barrier's watermarks are the final ones.
TEST_F(RevocationTest, ABarrierCanBeWaitedForInsidePollEvents) {
  auto topic = filled(2, 50);
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, open_for_long())).chain_factory(LineChain::factory());
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().append(partition(0), "late");
    return Idle{};
  });
  script().then(MemoryScript::revoke_inside({lane(0), lane(1)}));
  ASSERT_TRUE(wait_for_revoked(2));
  const auto seen = script().seen();
  std::size_t records = 0;
  for (const CapturedBatch& batch : capture->batches()) records += batch.records;
  std::size_t settled = 0;
  for (const PartitionWatermark& final : seen.barrier) settled += static_cast<std::size_t>(final.watermark.value());
  EXPECT_EQ(settled, records);
  script().then(MemoryScript::assign({partition(0), partition(1)}));
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  EXPECT_EQ(run.join().state, ExitState::completed);
  EXPECT_EQ(sorted(capture->lines()).size(), 101U);
}

// INV-5, K04: a revocation gives up at the drain deadline with writes under way. The partitions are assigned again from
// their last commit. The old writes succeed afterwards: their acks are stale and move nothing, and no record is
// missing.
TEST_F(RevocationTest, INV5_K04_StaleAcksMoveNothing) {
  auto topic = filled(1, 40);
  source.batch_records = 10;
  PipelineOptions options = quick();
  options.drain_timeout = Duration::zero();
  Pipeline pipeline(options);
  CaptureSinkOptions sink = small_chunks(10);
  auto registry = std::make_shared<MetricRegistry>();
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory()).metrics(registry);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  script().then(MemoryScript::revoke({lane(0)}));
  ASSERT_TRUE(wait_for_revoked(1));
  EXPECT_TRUE(topic->commits().empty());
  // Under the new epoch the first ten fail for good. Were the old acks not stale, the watermark would be at 40.
  script().then(MemoryScript::assign({partition(0)}));
  static constexpr std::uint64_t kSecondEpoch = std::uint64_t{2} << 40U;
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.token.sequence >= kSecondEpoch) return Error::fatal(ErrorCode::io, "refused");
    return std::nullopt;
  });
  capture->release();
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_FALSE(capture->lines().empty());  // the old writes did succeed
  EXPECT_TRUE(topic->commits().empty());
  const std::string text = registry->to_prometheus_text();
  const std::size_t at = text.find("etl_checkpoint_stale_acks_total{");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(text.substr(text.find('}', at), 3), "} 0") << text.substr(at, 200);
}

// INV-5: a lane that was stuck in its poll while it was revoked comes back with a batch when its partition belongs to
// another lane. It must not move the watermark over what the other has not delivered; the run fails rather than lose.
TEST_F(RevocationTest, INV5_ALaneThatComesBackTooLateMovesNothing) {
  struct Gate {
    Mutex mutex;
    CondVar changed;
    bool inside MILLRACE_GUARDED_BY(mutex) = false;
    bool open MILLRACE_GUARDED_BY(mutex) = false;
  };
  auto gate = std::make_shared<Gate>();
  auto topic = filled(1, 40);
  source.assign_all = false;
  script().then([gate](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<ScriptedLane>(lane(7), partition(0), memory.context().acks,
                                                            [gate](ScriptedLane::Turn turn) -> Result<PollResult> {
                                                              const MutexLock lock(gate->mutex);
                                                              gate->inside = true;
                                                              gate->changed.notify_all();
                                                              while (!gate->open) gate->changed.wait(gate->mutex);
                                                              PayloadBatch batch;
                                                              turn.payloads.assign(1, "never written");
                                                              batch.payloads = turn.payloads;
                                                              batch.base_offset = Offset(39);
                                                              batch.ack = turn.acks.issue(partition(0), Offset(39));
                                                              return batch;
                                                            }));
    return assigned;
  });
  PipelineOptions options = quick();
  options.drain_timeout = std::chrono::milliseconds(100);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  {
    const MutexLock lock(gate->mutex);
    while (!gate->inside) gate->changed.wait(gate->mutex);
  }
  script().then(MemoryScript::revoke({lane(7)}));
  ASSERT_TRUE(wait_for_revoked(1));
  script().then(MemoryScript::assign({partition(0)}));
  ASSERT_TRUE(capture->wait_for_held(1));
  {
    const MutexLock lock(gate->mutex);
    gate->open = true;
    gate->changed.notify_all();
  }
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().phase != PipelineSnapshot::Phase::running; }));
  capture->release();
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::failed);
  for (const std::string& line : capture->lines()) EXPECT_NE(line, "never written");
  const auto committed = topic->committed();
  const auto found = committed.find(partition(0));
  EXPECT_LE(found == committed.end() ? 0 : found->second.value(), static_cast<std::int64_t>(capture->lines().size()));
}

TEST_F(RevocationTest, LanesComeBackFromTheirCommit) {
  auto topic = filled(4, 250);
  source.batch_records = 16;
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  std::size_t revoked = 0;
  for (int round = 0; round < 10; ++round) {
    script().then(MemoryScript::revoke({lane(0), lane(1), lane(2), lane(3)}));
    script().then(MemoryScript::assign({partition(0), partition(1), partition(2), partition(3)}));
    revoked += 4;
  }
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  // A drained revocation replays nothing: each record is there exactly once.
  EXPECT_EQ(sorted(capture->lines()), everything(4, 250));
  EXPECT_EQ(script().seen().revoked.size(), revoked);
  std::set<std::pair<std::uint32_t, std::uint64_t>> tokens;
  for (const IdempotencyToken& token : capture->tries()) tokens.emplace(token.lane.value(), token.sequence);
  EXPECT_EQ(tokens.size(), capture->tries().size());  // tokens never repeat within a run
}

// An assignment that leaves live lanes in place drains and commits them, with a warning.
TEST_F(RevocationTest, ADeltaAssignmentDrainsTheLiveLanes) {
  auto topic = filled(2, 100);
  source.assign_all = false;
  script().then(MemoryScript::assign({partition(0)}));
  script().then(MemoryScript::assign({partition(0), partition(1)}));
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  // The source made the new lane before the old one was drained, so it reads some records again; none is missing.
  EXPECT_EQ(unique(capture->lines()), everything(2, 100));
  EXPECT_EQ(script().seen().revoked, std::vector{lane(0)});
}

// INV-2: a partition whose lane was replaced before its end and that no later assignment reads on is not complete.
TEST_F(RevocationTest, INV2_ADeltaThatLosesAPartitionIsNotCompleted) {
  auto topic = filled(2, 10);
  source.assign_all = false;
  script().then(MemoryScript::assign({partition(0)}));
  script().then(MemoryScript::assign({partition(1)}));
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::rule_broken);
  EXPECT_NE(report.error->message().find("partition 0"), std::string::npos);
}

// Assigns partition 1 once partition 0 is committed to its end; until then it asks again, without blocking.
Result<SourceEvent> second_wave(MemorySource& memory) {
  const auto committed = memory.topic().committed();
  const auto found = committed.find(partition(0));
  if (found != committed.end() && found->second == Watermark(30)) return MemoryScript::assign({partition(1)})(memory);
  memory.script().then(second_wave);
  return Idle{};
}

// Property: whatever is given and taken, whenever, with writes that fail, hang and come back: no commit is made before
// its records are written, and in the end each record is there. Method: a script of random revocations, some from
// inside the source, some that give up at once with data in flight, and assignments; one seed a script.
TEST_F(RevocationTest, INV1_INV5_RandomRebalancesLoseNothing) {
  constexpr std::uint32_t kPartitions = 4;
  constexpr std::size_t kRecords = 150;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SeededRandom random(seed);
    auto topic = filled(kPartitions, kRecords);
    auto written = std::make_shared<Capture>();
    audit_commits(*topic, written);
    written->decide([&random](const SealedBatch&) -> std::optional<Error> {
      if (random.below(4) == 0) return Error::retryable(ErrorCode::unavailable, "503");
      return std::nullopt;
    });
    MemorySourceOptions memory;
    memory.bounded = false;
    memory.assign_all = false;
    memory.batch_records = 1 + random.below(20);
    memory.wakers = random.below(2) == 0;
    const std::vector<PartitionId> all = topic->partitions();
    for (int step = 0; step < 12; ++step) {
      memory.script->then(MemoryScript::assign(all));
      // Lets the lanes come some way, a different one each time.
      for (std::uint64_t rounds = random.below(4); rounds > 0; --rounds) {
        memory.script->then([](MemorySource&) -> Result<SourceEvent> { return LanesRevoked{{}, nullptr}; });
      }
      std::vector<LaneId> first;
      std::vector<LaneId> second;
      for (std::uint32_t p = 0; p < kPartitions; ++p) (random.below(2) == 0 ? first : second).push_back(lane(p));
      memory.script->then(random.below(2) == 0 ? MemoryScript::revoke(first) : MemoryScript::revoke_inside(first));
      memory.script->then(MemoryScript::revoke(second));
    }
    memory.script->then(MemoryScript::assign(all));
    memory.script->then([](MemorySource& source_) -> Result<SourceEvent> {
      source_.topic().end();
      return Finished{};
    });
    PipelineOptions options = quick();
    options.threads = 1 + random.below(3);
    // Half of the scripts never wait for a drain: their writes are under way when the lanes are assigned again.
    if (random.below(2) == 0) options.drain_timeout = std::chrono::milliseconds(1);
    options.max_inflight_bytes = 512 + random.below(8192);
    Pipeline pipeline(options);
    CaptureSinkOptions sink = small_chunks(1 + random.below(20));
    sink.traits.concurrency = 1 + random.below(2);
    pipeline.sink(CaptureSink::make(written, sink)).chain_factory(LineChain::factory());
    const RunReport report = pipeline.run(MemorySource::make(topic, memory));
    // With a drain of a millisecond the last one may be cut short too; then the next run reads on.
    if (report.state != ExitState::completed) {
      ASSERT_EQ(options.drain_timeout, std::chrono::milliseconds(1)) << why(report) << " seed " << seed;
      Pipeline again(quick());
      again.sink(CaptureSink::make(written, small_chunks())).chain_factory(LineChain::factory());
      const RunReport rest = again.run(MemorySource::make(topic));
      ASSERT_EQ(rest.state, ExitState::completed) << why(rest) << " seed " << seed;
    }
    ASSERT_EQ(unique(written->lines()), everything(kPartitions, kRecords)) << "seed " << seed;
    for (const PartitionId p : all) ASSERT_EQ(topic->committed().at(p), Watermark(kRecords)) << "seed " << seed;
  }
}

// A second wave after the first has come to its end is no delta.
TEST_F(RevocationTest, WavesOfExhaustedLanesAreFine) {
  auto topic = std::make_shared<MemoryTopic>(2);
  for (std::size_t i = 0; i < 30; ++i) topic->append(partition(0), payload_of(0, i));
  topic->end();
  source.assign_all = false;
  script().then(MemoryScript::assign({partition(0)}));
  script().then(second_wave);
  source.bounded = true;
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(capture->lines().size(), 30U);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(30));
}

TEST_F(RevocationTest, UnknownLanesAndEmptyRevocationsAreHarmless) {
  auto topic = filled(1, 10);
  script().then(MemoryScript::revoke({lane(77)}));
  script().then(MemoryScript::revoke({}));
  script().then(MemoryScript::revoke_inside({lane(78)}));
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    memory.topic().end();
    return Finished{};
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(capture->lines().size(), 10U);
}

// A source that begins a revocation, forgets to conclude it, and is finished: concluded for it rather than waited for.
TEST_F(RevocationTest, AForgottenRevocationEndsWithTheEvents) {
  auto topic = filled(2, 10);
  script().then([](MemorySource& memory) -> Result<SourceEvent> {
    const std::vector lanes{lane(1)};
    std::ignore = memory.context().begin_revocation(lanes)->wait();
    memory.topic().end();
    return Finished{};
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
}

// A barrier that a source keeps beyond the run waits for nothing.
TEST_F(RevocationTest, ABarrierOutlivesTheRun) {
  auto topic = filled_and_ended(1, 10);
  auto kept = std::make_shared<std::shared_ptr<DrainBarrier>>();
  auto begin = std::make_shared<std::function<std::shared_ptr<DrainBarrier>(std::span<const LaneId>)>>();
  script().then([kept, begin](MemorySource& memory) -> Result<SourceEvent> {
    const std::vector lanes{lane(55)};
    *begin = memory.context().begin_revocation;
    *kept = memory.context().begin_revocation(lanes);
    return Finished{};
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  EXPECT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::completed);
  EXPECT_TRUE((*kept)->wait().empty());
  const std::vector lanes{lane(0)};
  EXPECT_EQ((*begin)(lanes), nullptr);
}

}  // namespace
}  // namespace millrace::testing
