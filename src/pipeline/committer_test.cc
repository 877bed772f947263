// SPDX-License-Identifier: Apache-2.0
#include "pipeline/committer.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

namespace millrace {
namespace {

constexpr PartitionId kPartition(3);

/// Keeps what is committed, in order.
class CommitLog final : public Source {
 public:
  Result<void> open(SourceContext /*context*/) override { return {}; }
  Result<SourceEvent> poll_events(Duration /*timeout*/) override { return Finished{}; }
  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    for (const PartitionWatermark& one : watermarks) watermarks_.push_back(one.watermark.value());
    return {};
  }
  [[nodiscard]] const std::vector<std::int64_t>& watermarks() const { return watermarks_; }

 private:
  std::vector<std::int64_t> watermarks_;
};

class CommitterTest : public ::testing::Test {
 protected:
  void begin_epoch() { checkpointer.begin_epoch(std::vector{kPartition}); }
  /// A batch up to `last` is issued, delivered and committed.
  void deliver(std::int64_t last) {
    AckRef ack = issuer.issue(kPartition, Offset(last));
    ack.reset();
    checkpointer.drain();
    ASSERT_TRUE(committer.commit(false));
  }
  std::vector<std::int64_t> committed() const { return source.watermarks(); }

  CommitLog source;
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  ControlMetrics metrics;
  Committer committer{{.source = &source, .checkpointer = &checkpointer, .metrics = &metrics}};
};

TEST_F(CommitterTest, INV5_APartitionThatIsReadAgainIsNotCommittedBackwards) {
  begin_epoch();
  deliver(49);
  committer.hold(kPartition);
  begin_epoch();
  deliver(9);
  deliver(49);
  EXPECT_EQ(committed(), (std::vector<std::int64_t>{50})) << "10 and 50 are behind what is committed";
  EXPECT_EQ(committer.committed().at(kPartition), Watermark(50));
  deliver(59);
  EXPECT_EQ(committed(), (std::vector<std::int64_t>{50, 60}));
}

TEST_F(CommitterTest, AGivenBackPartitionBeginsWhereItsSourceSays) {
  begin_epoch();
  deliver(49);
  committer.hold(kPartition);
  committer.let_go(kPartition);
  begin_epoch();
  deliver(9);
  EXPECT_EQ(committed(), (std::vector<std::int64_t>{50, 10}));
}

TEST_F(CommitterTest, NothingIsHeldOfWhatWasNeverCommitted) {
  committer.hold(kPartition);
  begin_epoch();
  deliver(0);
  EXPECT_EQ(committed(), (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace millrace
