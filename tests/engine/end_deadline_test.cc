// SPDX-License-Identifier: Apache-2.0
// The end of a run has an end: the source hears by when its last commit and its goodbye must be over.
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

/// What the source was told, and when.
struct Told {
  SteadyTime flush_by{};
  SteadyTime flush_at{};
  SteadyTime close_by{};
};

/// A memory source that hears the deadlines.
class TimedSource final : public Source {
 public:
  TimedSource(std::shared_ptr<MemoryTopic> topic, std::shared_ptr<Told> told)
      : inner_(std::move(topic), {}), told_(std::move(told)) {}
  Result<void> open(SourceContext context) override { return inner_.open(std::move(context)); }
  Result<SourceEvent> poll_events(Duration timeout) override { return inner_.poll_events(timeout); }
  Result<void> commit(std::span<const PartitionWatermark> moved) override { return inner_.commit(moved); }
  Result<void> flush_commits_by(SteadyTime deadline) override {
    told_->flush_by = deadline;
    told_->flush_at = Clock::real().now();
    return inner_.flush_commits();
  }
  void close_by(SteadyTime deadline) override {
    told_->close_by = deadline;
    inner_.close();
  }
  [[nodiscard]] bool bounded() const override { return true; }

 private:
  MemorySource inner_;
  const std::shared_ptr<Told> told_;
};

TEST(EndDeadline, M06_TheLastCommitAndTheGoodbyeEndWithTheDrain) {
  auto told = std::make_shared<Told>();
  Pipeline pipeline(quick());  // drains for at most 30 s
  pipeline.sink(CaptureSink::make(std::make_shared<Capture>(), small_chunks())).chain_factory(LineChain::factory());
  const SteadyTime before = Clock::real().now();
  const RunReport report =
      pipeline.run(Result<std::unique_ptr<Source>>(std::make_unique<TimedSource>(filled_and_ended(1, 20), told)));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_GE(told->flush_by, before + std::chrono::seconds(30));
  EXPECT_LE(told->flush_by, Clock::real().now() + std::chrono::seconds(30));
  EXPECT_EQ(told->close_by, told->flush_by) << "one end for both";
}

TEST(EndDeadline, M06_ADrainThatTookAllItsTimeLeavesAMomentForTheLastCommit) {
  auto told = std::make_shared<Told>();
  PipelineOptions options = quick();
  options.drain_timeout = Duration::zero();
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(std::make_shared<Capture>(), small_chunks())).chain_factory(LineChain::factory());
  (void)pipeline.run(Result<std::unique_ptr<Source>>(std::make_unique<TimedSource>(filled_and_ended(1, 20), told)));
  EXPECT_GT(told->flush_by, told->flush_at) << "what was acknowledged can still be saved";
  EXPECT_LE(told->flush_by, told->flush_at + std::chrono::seconds(2));
}

}  // namespace
}  // namespace millrace::testing
