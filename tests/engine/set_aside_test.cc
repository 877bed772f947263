// SPDX-License-Identifier: Apache-2.0
// SourceLane::set_aside: a payload that the chain refuses ends the run, unless its lane sets aside what it belongs to.
// Then the rest of the batch is settled without having been delivered, and nothing else is (INV-1).
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "engine_fixture.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/compile.h"

namespace millrace::testing {
namespace {

/// What lanes were asked, and what they answer. Kept by the test.
struct Asked {
  Mutex mutex;
  std::vector<std::pair<std::int64_t, ErrorCode>> refused MILLRACE_GUARDED_BY(mutex);
  Atomic<bool> agree{true};
  Atomic<bool> throws{false};
  [[nodiscard]] std::vector<std::pair<std::int64_t, ErrorCode>> all() {
    const MutexLock lock(mutex);
    return refused;
  }
};

class AsideLane final : public SourceLane {
 public:
  AsideLane(std::unique_ptr<SourceLane> lane, std::shared_ptr<Asked> asked)
      : lane_(std::move(lane)), asked_(std::move(asked)) {}
  LaneId id() const override { return lane_->id(); }
  PartitionId partition() const override { return lane_->partition(); }
  Result<PollResult> poll(std::size_t max_records, Duration timeout) override {
    return lane_->poll(max_records, timeout);
  }
  bool set_waker(Waker waker) override { return lane_->set_waker(std::move(waker)); }
  bool set_aside(Offset failed, const Error& error) override {
    if (asked_->throws.load()) throw std::runtime_error("lane bug");
    const MutexLock lock(asked_->mutex);
    asked_->refused.emplace_back(failed.value(), error.code());
    return asked_->agree.load();
  }

 private:
  const std::unique_ptr<SourceLane> lane_;
  const std::shared_ptr<Asked> asked_;
};

/// A MemorySource whose lanes set aside the rest of a batch.
class AsideSource final : public Source {
 public:
  AsideSource(std::shared_ptr<MemoryTopic> topic, MemorySourceOptions options, std::shared_ptr<Asked> asked)
      : source_(std::move(topic), std::move(options)), asked_(std::move(asked)) {}
  Result<void> open(SourceContext context) override { return source_.open(std::move(context)); }
  Result<SourceEvent> poll_events(Duration timeout) override {
    auto event = source_.poll_events(timeout);
    if (event) {
      if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
        for (auto& lane : assigned->lanes) lane = std::make_unique<AsideLane>(std::move(lane), asked_);
      }
    }
    return event;
  }
  Result<void> commit(std::span<const PartitionWatermark> watermarks) override { return source_.commit(watermarks); }
  Result<void> flush_commits() override { return source_.flush_commits(); }
  void pause(std::span<const LaneId> lanes) override { source_.pause(lanes); }
  void resume(std::span<const LaneId> lanes) override { source_.resume(lanes); }
  void close() override { source_.close(); }
  bool bounded() const override { return true; }
  SourceProgress progress() const override {
    SourceProgress progress;
    progress.objects_quarantined = asked_->agree.load() ? asked_->all().size() : 0;
    return progress;
  }

 private:
  MemorySource source_;
  const std::shared_ptr<Asked> asked_;
};

struct SetAside : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<Asked> asked = std::make_shared<Asked>();
  std::shared_ptr<MemoryTopic> topic = filled_and_ended(1, 100);
  std::set<std::int64_t> bad;  // offsets that the chain refuses

  RunReport run(CaptureSinkOptions sink = small_chunks(10)) {
    MemorySourceOptions options;
    options.batch_records = 10;
    LineChainOptions chain;
    chain.look = [this](std::string_view, const RecordMeta& meta) {
      return bad.contains(meta.offset.value()) ? LineAction::fail : LineAction::write;
    };
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(capture, std::move(sink))).chain_factory(LineChain::factory(chain));
    return pipeline.run(std::make_unique<AsideSource>(topic, options, asked));
  }
  [[nodiscard]] Watermark committed() const {
    const auto all = topic->committed();
    return all.contains(partition(0)) ? all.at(partition(0)) : Watermark(0);
  }
  static std::vector<std::string> without(std::int64_t from, std::int64_t to) {
    std::vector<std::string> lines;
    for (std::int64_t i = 0; i < 100; ++i) {
      if (i < from || i >= to) lines.push_back(payload_of(0, static_cast<std::size_t>(i)));
    }
    return sorted(lines);
  }
};

// Batches of ten: the one of 50 to 59 is cut at 57.
TEST_F(SetAside, INV1_TheRestOfTheBatchIsSettledAndTheRunGoesOn) {
  bad = {57};
  const RunReport report = run();
  EXPECT_EQ(report.state, ExitState::completed_with_errors) << why(report);
  EXPECT_EQ(report.exit_code(), 4);
  EXPECT_EQ(report.objects_quarantined, 1U);
  EXPECT_EQ(asked->all(), (std::vector<std::pair<std::int64_t, ErrorCode>>{{57, ErrorCode::malformed}}));
  EXPECT_EQ(sorted(capture->lines()), without(57, 60));
  EXPECT_EQ(report.records_in, 97U);
  EXPECT_EQ(report.records_out, 97U);
  EXPECT_EQ(committed(), Watermark(100));
}

TEST_F(SetAside, TheFirstRecordOfABatchAndSeveralInARun) {
  bad = {0, 20, 49, 99};
  const RunReport report = run();
  EXPECT_EQ(report.state, ExitState::completed_with_errors) << why(report);
  EXPECT_EQ(asked->all().size(), 4U);
  EXPECT_EQ(capture->lines().size(), 100U - 10 - 10 - 1 - 1);
  EXPECT_EQ(committed(), Watermark(100));
}

// Chunks of ten: 50 to 56 share theirs with 60 to 62. It is refused for good, so what is before the fault is not
// durable; the watermark rests where the batch began although its rest was settled at once.
TEST_F(SetAside, INV1_TheWatermarkWaitsForWhatWasDeliveredBefore) {
  bad = {57};
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset == Offset(50)) return Error::fatal(ErrorCode::permission_denied, "403");
    return std::nullopt;
  });
  const RunReport report = run();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(committed(), Watermark(50));
}

// Chunks of four: 48 to 51, 52 to 55, and 56 with 60 to 62, which is refused. The seal behind 55 cut the batch's ack,
// so the watermark rests at 56; the fault at 57 cuts it once more, and its rest, settled already, must not carry it on.
TEST_F(SetAside, INV1_AFaultBehindASealOfItsOwnBatch) {
  bad = {57};
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.last_offset >= Offset(56)) return Error::fatal(ErrorCode::permission_denied, "403");
    return std::nullopt;
  });
  EXPECT_EQ(run(small_chunks(4)).state, ExitState::failed);
  EXPECT_EQ(committed(), Watermark(56));
  EXPECT_EQ(capture->lines().size(), 56U);
}

TEST_F(SetAside, INV1_ALaneThatDeclinesEndsTheRun) {
  bad = {57};
  asked->agree.store(false);
  const RunReport report = run();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_NE(report.error->describe().find("offset=57"), std::string::npos) << why(report);
  EXPECT_EQ(committed(), Watermark(57));
}

TEST_F(SetAside, INV1_ALaneThatThrowsIsNamed) {
  bad = {57};
  asked->throws.store(true);
  const RunReport report = run();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.error->code(), ErrorCode::user_code);
  EXPECT_NE(report.error->message().find("lane bug"), std::string::npos) << why(report);
  EXPECT_NE(report.error->describe().find("refused="), std::string::npos) << "nor is the record's own error lost";
  EXPECT_EQ(committed(), Watermark(57));
}

// The compiled chain: a fault between seals, and what a record wrote before it was refused is taken back.
TEST_F(SetAside, ACompiledChainHandsOverWhatCameBefore) {
  const auto refuse = [](std::string_view text) -> Result<std::string> {
    if (text == "p0-57") return fail(Error::record(ErrorCode::malformed, "57"));
    return std::string(text);
  };
  const auto twice = [](const std::string& text, auto&& emit) {
    emit(text);
    emit(text + "'");
  };
  Pipeline pipeline(quick());
  MemorySourceOptions options;
  options.batch_records = 10;
  pipeline.sink(CaptureSink::make(capture, small_chunks(6))).chain_factory([&](const ChainContext& context) {
    return compile(decode::raw() | ops::try_map(refuse) | ops::flat_map(twice) | encode::raw({.delimiter = "\n"}),
                   context);
  });
  const RunReport report = pipeline.run(std::make_unique<AsideSource>(topic, options, asked));
  EXPECT_EQ(report.state, ExitState::completed_with_errors) << why(report);
  std::vector<std::string> expected;
  for (const std::string& line : without(57, 60)) {
    expected.push_back(line);
    expected.push_back(line + "'");
  }
  EXPECT_EQ(sorted(capture->lines()), sorted(expected));
  EXPECT_EQ(report.records_in, 97U);
  EXPECT_EQ(report.records_out, 194U);
  EXPECT_EQ(committed(), Watermark(100));
}

}  // namespace
}  // namespace millrace::testing
