// SPDX-License-Identifier: Apache-2.0
// Goal: the simulator notices a connector or a chain that breaks its promise. Method: each wrong in one way, under a
// few seeds, of which one must name the promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/memory_source.h"
#include "millrace/testing/simulator.h"

namespace millrace::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::StartsWith;

std::vector<std::string> broken_under_some_seed(const std::function<Simulation()>& world) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationReport report = simulate(world, seed);
    if (!report.kept()) return report.broken;
  }
  return {};
}

/// A destination that lines are added to.
using Lines = std::shared_ptr<std::vector<std::string>>;

enum class WrongWrite { none, success_too_early, takes_the_bytes };

class LineWriter final : public Writer {
 public:
  LineWriter(Lines lines, WrongWrite wrong) : lines_(std::move(lines)), wrong_(wrong) {}
  Result<Receipt> write(SealedBatch& batch) override {
    std::vector<std::string> came;
    std::string line;
    for (const char byte : batch.chunk.bytes.view()) {
      if (byte == '\n') {
        came.push_back(std::exchange(line, {}));
      } else {
        line += byte;
      }
    }
    if (wrong_ == WrongWrite::success_too_early) came.swap(held_);
    lines_->insert(lines_->end(), came.begin(), came.end());
    if (wrong_ == WrongWrite::takes_the_bytes) batch.chunk.bytes.clear();
    return Receipt{};
  }
  Result<void> close(SteadyTime) override {
    lines_->insert(lines_->end(), held_.begin(), held_.end());
    return {};
  }

 private:
  const Lines lines_;
  const WrongWrite wrong_;
  std::vector<std::string> held_;
};

class LineSink final : public Sink {
 public:
  LineSink(Lines lines, WrongWrite wrong) : lines_(std::move(lines)), wrong_(wrong) {}
  std::string_view type() const override { return "lines"; }
  Result<void> open(SinkContext) override { return {}; }
  Result<std::unique_ptr<Writer>> make_writer() override { return std::make_unique<LineWriter>(lines_, wrong_); }
  SealPolicy seal_policy() const override { return {.max_records = 3, .max_age = std::chrono::milliseconds(300)}; }

 private:
  const Lines lines_;
  const WrongWrite wrong_;
};

Simulation lines_world(WrongWrite wrong) {
  auto lines = std::make_shared<std::vector<std::string>>();
  Simulation made;
  made.sink = [lines, wrong] { return std::make_unique<LineSink>(lines, wrong); };
  made.durable = [lines] { return *lines; };
  return made;
}

/// Keeps another position than it is given.
class ShiftedSource final : public Source {
 public:
  ShiftedSource(std::shared_ptr<MemoryTopic> topic, std::int64_t shift)
      : topic_(topic), inner_(topic, {.bounded = true}), shift_(shift) {}
  Result<void> open(SourceContext context) override { return inner_.open(std::move(context)); }
  Result<SourceEvent> poll_events(Duration timeout) override { return inner_.poll_events(timeout); }
  bool bounded() const override { return true; }
  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    std::vector<PartitionWatermark> moved(watermarks.begin(), watermarks.end());
    for (PartitionWatermark& one : moved) one.watermark = Watermark(one.watermark.value() + shift_);
    return topic_->commit(std::move(moved));
  }

 private:
  const std::shared_ptr<MemoryTopic> topic_;
  MemorySource inner_;
  const std::int64_t shift_;
};

Simulation shifted_world(std::int64_t shift) {
  auto topic = std::make_shared<MemoryTopic>(1);
  Simulation made;
  for (int i = 0; i < 30; ++i) {
    made.expected.push_back("record " + std::to_string(i));
    topic->append(PartitionId(0), made.expected.back());
  }
  topic->end();
  made.source = [topic, shift] { return std::make_unique<ShiftedSource>(topic, shift); };
  return made;
}

TEST(Simulator, KeepsQuietAboutGoodSeams) {
  EXPECT_THAT(broken_under_some_seed([] { return lines_world(WrongWrite::none); }), ::testing::IsEmpty());
  EXPECT_THAT(broken_under_some_seed([] { return shifted_world(0); }), ::testing::IsEmpty());
}

TEST(Simulator, NoticesASuccessThatIsToldTooEarly) {
  EXPECT_THAT(broken_under_some_seed([] { return lines_world(WrongWrite::success_too_early); }),
              Contains(StartsWith("committed is never ahead of durable")));
}

TEST(Simulator, NoticesABatchThatIsAnotherOnItsNextTry) {
  EXPECT_THAT(broken_under_some_seed([] { return lines_world(WrongWrite::takes_the_bytes); }),
              Contains(StartsWith("a batch is the same on each try")));
}

TEST(Simulator, NoticesAPositionThatSkipsARecord) {
  EXPECT_THAT(broken_under_some_seed([] { return shifted_world(1); }),
              Contains(AnyOf(StartsWith("Completed says that every record is durable"),
                             StartsWith("committed is never ahead of durable"))));
}

// Answers are lost, and this sink writes again what it has.
TEST(Simulator, NoticesTwiceWhereOnceIsPromised) {
  EXPECT_THAT(broken_under_some_seed([] {
                Simulation made = lines_world(WrongWrite::none);
                made.exactly_once = true;
                return made;
              }),
              Contains(StartsWith("exactly once is once")));
}

TEST(Simulator, NoticesAChainThatLosesRecords) {
  EXPECT_THAT(broken_under_some_seed([] {
                Simulation made;
                made.chain = [](const ChainContext& context) {
                  return compile(decode::raw() | ops::filter([](const decode::Bytes& record) {
                                   return !record.view.ends_with('7');
                                 }) | encode::raw(),
                                 context);
                };
                return made;
              }),
              Contains(StartsWith("committed is never ahead of durable")));
}

TEST(Simulator, TellsHowToSeeAFailureAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationReport report = simulate([] { return lines_world(WrongWrite::success_too_early); }, seed);
    if (report.kept()) continue;
    EXPECT_THAT(report.to_text(), ::testing::HasSubstr("MILLRACE_SIMULATION_SEED=" + std::to_string(seed)));
    return;
  }
  ADD_FAILURE() << "no seed noticed";
}

}  // namespace
}  // namespace millrace::testing
