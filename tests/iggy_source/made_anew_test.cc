// SPDX-License-Identifier: Apache-2.0
// Goal: with on_position_lost: fail no offset of a topic that is gone stands for messages of the one that has its name.
// Method: whole pipelines over both framings from a fake server, whose topic is deleted and made anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;
using testing::why;

class IggyMadeAnew : public ::testing::TestWithParam<std::string> {
 protected:
  IggyMadeAnew() : server_(GetParam()) {}
  /// Five messages of the old one are at hand, not written, and 200 are in the new one.
  void begin(Duration heartbeat) {
    options_ = options_for(server_);
    options_.consumer_group.clear();
    options_.consumer = "7";
    options_.topics = {"t", "u"};
    options_.heartbeat = heartbeat;
    server_.create(1);
    fill(5);
    capture_->hold();
    run_ = std::make_unique<Running>(options_, EncodeSpec{}, capture_);
    ASSERT_TRUE(capture_->wait_for_held(1));
    // None of the new one is fetched as if it followed the old ones.
    server_.control({{"fault",
                      {{"on", "poll"},
                       {"do", "empty"},
                       {"times", 0},
                       {"where", {{"kind", "consumer"}, {"strategy", "offset"}, {"count_over", 1}}}}}});
    server_.control({{"delete", other_}});
    fill(200);
  }
  void fill(int count) {
    server_.control({{"create", other_}});
    nlohmann::json what = other_;
    what["messages"] = {{{"payload", "{}"}, {"repeat", count}}};
    server_.control({{"append", what}});
  }
  /// Of the new one.
  int stored_offset() {
    const auto kept = server_.control({{"partitions", other_}})[0]["stored"];
    return kept.contains("consumer:7") ? kept["consumer:7"].get<int>() : -1;
  }
  bool draining() const {
    return testing::eventually([&] { return run_->snapshot().phase == PipelineSnapshot::Phase::draining; });
  }

  iggy_rig::FakeServer server_;
  const nlohmann::json other_{{"stream", "s"}, {"topic", "u"}};
  IggySourceOptions options_;
  const std::shared_ptr<testing::Capture> capture_ = std::make_shared<testing::Capture>();
  std::unique_ptr<Running> run_;
};

TEST_P(IggyMadeAnew, INV1_AnOffsetOfTheOldTopicIsNotStored) {
  ASSERT_NO_FATAL_FAILURE(begin(std::chrono::milliseconds(50)));
  ASSERT_TRUE(draining());
  capture_->release();
  EXPECT_EQ(run_->join().state, ExitState::failed);
  EXPECT_THAT(why(run_->join()), HasSubstr("topic 's/u' was deleted and made anew"));
  EXPECT_EQ(stored_offset(), -1) << "the next run would begin behind it";
}

TEST_P(IggyMadeAnew, INV1_AnOffsetOfTheOldTopicThatWasStoredIsDeleted) {
  ASSERT_NO_FATAL_FAILURE(begin(std::chrono::seconds(30)));
  capture_->release();
  ASSERT_TRUE(testing::eventually([&] { return stored_offset() == 4; })) << "nobody has looked yet";
  server_.control({{"disconnect", true}});
  EXPECT_EQ(run_->join().state, ExitState::failed);
  EXPECT_THAT(why(run_->join()), HasSubstr("topic 's/u' was deleted and made anew"));
  EXPECT_EQ(stored_offset(), -1) << "the next run would begin behind it";
}

INSTANTIATE_TEST_SUITE_P(Both, IggyMadeAnew, ::testing::Values("classic", "vsr"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace millrace::iggy_source
