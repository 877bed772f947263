// SPDX-License-Identifier: Apache-2.0
// Which calls a source and its lanes get, when, and on which threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine_fixture.h"
#include "scripted_lane.h"

namespace millrace::testing {
namespace {

/// What was called, in order, with who called. Thread-safe.
class Calls {
 public:
  void note(const std::string& name) {
    const MutexLock lock(mutex_);
    calls_.emplace_back(name, ::gettid());
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view without) const {
    const MutexLock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, thread] : calls_) {
      if (name != without) names.push_back(name);
    }
    return names;
  }
  /// The threads that made calls of a name that begins like this.
  [[nodiscard]] std::set<pid_t> threads(std::string_view prefix) const {
    const MutexLock lock(mutex_);
    std::set<pid_t> threads;
    for (const auto& [name, thread] : calls_) {
      if (name.starts_with(prefix)) threads.insert(thread);
    }
    return threads;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<std::string, pid_t>> calls_ MILLRACE_GUARDED_BY(mutex_);
};

class NotingLane final : public SourceLane {
 public:
  NotingLane(std::unique_ptr<SourceLane> lane, std::shared_ptr<Calls> calls)
      : lane_(std::move(lane)), calls_(std::move(calls)), name_("lane " + std::to_string(lane_->id().value())) {}
  ~NotingLane() override { calls_->note(name_); }
  LaneId id() const override { return lane_->id(); }
  PartitionId partition() const override { return lane_->partition(); }
  bool set_waker(Waker waker) override { return lane_->set_waker(std::move(waker)); }
  Result<PollResult> poll(std::size_t max_records, Duration timeout) override {
    calls_->note(name_);
    return lane_->poll(max_records, timeout);
  }

 private:
  const std::unique_ptr<SourceLane> lane_;
  const std::shared_ptr<Calls> calls_;
  const std::string name_;
};

class NotingSource final : public Source {
 public:
  NotingSource(std::unique_ptr<Source> source, std::shared_ptr<Calls> calls)
      : source_(std::move(source)), calls_(std::move(calls)) {}
  Result<void> open(SourceContext context) override {
    calls_->note("source open");
    return source_->open(std::move(context));
  }
  Result<SourceEvent> poll_events(Duration timeout) override {
    calls_->note("source poll_events");
    Result<SourceEvent> event = source_->poll_events(timeout);
    if (auto* assigned = event ? std::get_if<LanesAssigned>(&*event) : nullptr) {
      for (auto& lane : assigned->lanes) lane = std::make_unique<NotingLane>(std::move(lane), calls_);
    }
    return event;
  }
  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    calls_->note("source commit");
    return source_->commit(watermarks);
  }
  Result<void> flush_commits() override {
    calls_->note("source flush_commits");
    return source_->flush_commits();
  }
  void pause(std::span<const LaneId> lanes) override {
    calls_->note("source pause");
    source_->pause(lanes);
  }
  void resume(std::span<const LaneId> lanes) override {
    calls_->note("source resume");
    source_->resume(lanes);
  }
  void revoked(std::span<const LaneId> lanes) override {
    calls_->note("source revoked");
    source_->revoked(lanes);
  }
  void close() override {
    calls_->note("source close");
    source_->close();
  }
  bool bounded() const override { return source_->bounded(); }

 private:
  const std::unique_ptr<Source> source_;
  const std::shared_ptr<Calls> calls_;
};

// Goal: a source needs no locks: its control calls come from one thread, a lane's from one thread. And their order.
// Method: a run with back-pressure and a revocation, every call noted.
TEST(SourceCalls, ComeInOrderAndFromOneThread) {
  ManualClock clock;
  auto topic = filled(4, 300);
  auto capture = std::make_shared<Capture>();
  auto calls = std::make_shared<Calls>();
  MemorySourceOptions source;
  source.assign_all = false;
  source.bounded = false;
  source.script->then(MemoryScript::assign({partition(0), partition(1), partition(2), partition(3)}));
  PipelineOptions options = quick();
  options.threads = 2;
  options.max_inflight_bytes = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, std::make_unique<NotingSource>(*MemorySource::make(topic, source), calls));
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return !source.script->seen().paused.empty();
  }));
  capture->release();
  ASSERT_TRUE(capture->wait_for_batches(120));
  source.script->then(MemoryScript::revoke({lane(0), lane(1), lane(2), lane(3)}));
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return source.script->seen().revoked.size() == 4;
  }));
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);

  EXPECT_EQ(calls->threads("source ").size(), 1U);
  std::set<pid_t> lane_threads;
  for (const std::string name : {"lane 0", "lane 1", "lane 2", "lane 3"}) {
    const std::set<pid_t> threads = calls->threads(name);
    EXPECT_EQ(threads.size(), 1U) << name;
    lane_threads.insert(threads.begin(), threads.end());
  }
  EXPECT_EQ(lane_threads.size(), 2U);
  EXPECT_FALSE(lane_threads.contains(*calls->threads("source ").begin()));

  std::vector<std::string> names = calls->names("source poll_events");
  std::erase_if(names, [](const std::string& name) { return name.starts_with("lane"); });
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "source open");
  EXPECT_EQ(std::ranges::count(names, "source open"), 1);
  EXPECT_EQ(std::ranges::count(names, "source close"), 1);
  EXPECT_EQ(names.back(), "source close");
  const auto revoked = std::ranges::find(names, "source revoked");
  ASSERT_NE(revoked, names.end());
  EXPECT_EQ(*std::prev(revoked), "source flush_commits");
  EXPECT_GE(std::count(names.begin(), revoked, "source commit"), 1);
}

// What has moved is committed at the interval, all partitions in one call; where nothing has moved there is no call.
TEST(SourceCalls, CommitsComeAtTheInterval) {
  ManualClock clock;
  auto topic = filled(2, 10);
  auto capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  source.bounded = false;
  PipelineOptions options = quick();
  options.checkpoint_interval = std::chrono::seconds(10);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_batches(2));
  const auto pass = [&](Duration time) {
    for (Duration passed{0}; passed < time; passed += kControlPeriod) {
      clock.advance(kControlPeriod);
      ASSERT_TRUE(eventually([&] { return pipeline.snapshot().since_control_heartbeat == Duration::zero(); }));
    }
  };
  pass(std::chrono::milliseconds(9900));
  EXPECT_TRUE(topic->commits().empty());
  pass(std::chrono::milliseconds(200));
  ASSERT_TRUE(eventually([&] { return topic->commits().size() == 1; }));
  const std::vector<PartitionWatermark> all = topic->commits().at(0);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].watermark, Watermark(10));
  EXPECT_EQ(all[1].watermark, Watermark(10));
  pass(std::chrono::seconds(20));
  EXPECT_EQ(topic->commits().size(), 1U);
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// A payload's key, or that it has none, reaches its record: sinks route by it.
TEST(SourceCalls, AKeyTravelsWithItsPayload) {
  auto topic = filled(1, 0);
  auto capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  source.assign_all = false;
  source.script->then([](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<ScriptedLane>(
        lane(0), partition(0), memory.context().acks, [](ScriptedLane::Turn turn) -> Result<PollResult> {
          static const std::vector<std::string_view> kKeys{"user-7", std::string_view(), ""};
          if (turn.poll != 0) return Exhausted{};
          turn.payloads.assign({"a", "b", "c"});
          PayloadBatch batch;
          batch.payloads = turn.payloads;
          batch.keys = kKeys;
          batch.partition = partition(0);
          batch.base_offset = Offset(0);
          batch.ack = turn.acks.issue(partition(0), Offset(2));
          return batch;
        }));
    return assigned;
  });
  auto seen = std::make_shared<std::vector<std::string>>();  // one lane, so one thread
  LineChainOptions chain;
  chain.look = [seen](std::string_view payload, const RecordMeta& meta) {
    seen->push_back(std::string(payload) + (meta.has_key ? "=" + std::string(meta.key) : ""));
    return LineAction::write;
  };
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory(chain));
  EXPECT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::completed);
  EXPECT_EQ(*seen, (std::vector<std::string>{"a=user-7", "b", "c="}));
}

}  // namespace
}  // namespace millrace::testing
