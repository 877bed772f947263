// SPDX-License-Identifier: Apache-2.0
// Goal: where a lane begins, by what the server keeps, what this process knows, and which of the two is newer; and that
// a server is left with the right offset. Method: Topics and Desk against a fake server, without a pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/iggy/desk.h"
#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;

constexpr Partition kFirst{0, 0};
const nlohmann::json kWhere{{"stream", "s"}, {"topic", "t"}};

class IggyBeginning : public ::testing::Test {
 protected:
  IggyBeginning() {
    options_ = options_for(server_);
    options_.consumer_group.clear();
    options_.consumer = "7";
    context_.log = Logger(log_, "test");
    server_.create(1);
  }
  void store(int offset) {
    nlohmann::json what = kWhere;
    what.update({{"consumer", 7}, {"offset", offset}});
    server_.control({{"store", what}});
  }
  Result<Beginning> begin(const std::optional<Kept>& kept, const std::optional<Loss>& loss = std::nullopt) {
    if (!client_) {
      auto made = iggy::Client::make(client_options(options_, context_));
      EXPECT_TRUE(made);
      client_ = *std::move(made);
      topics_ = std::make_unique<Topics>(options_, context_.log);
      EXPECT_TRUE(topics_->look(*client_));
    }
    return topics_->begin(*client_, kFirst, kept, loss);
  }
  [[nodiscard]] int kept_by_server() { return stored(server_, "consumer:7")[0]; }
  static Kept kept(int settled, bool yielded = false) {
    Kept kept;
    kept.settled = Watermark(settled);
    kept.was_stored = true;
    kept.yielded = yielded;
    return kept;
  }

  iggy_rig::FakeServer server_{"vsr"};
  IggySourceOptions options_;
  SourceContext context_;
  const std::shared_ptr<Lines> log_ = std::make_shared<Lines>();
  std::unique_ptr<iggy::Client> client_;
  std::unique_ptr<Topics> topics_;
};

TEST_F(IggyBeginning, WhatThisProcessMadeDurableIsPassedAndStored) {
  server_.append(0, 0, 10);
  store(3);
  const auto begun = begin(kept(8));
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(8));
  EXPECT_EQ(kept_by_server(), 7);
}

// Others have had it since, and went back: by hand, or as the server lost messages.
TEST_F(IggyBeginning, WhatOthersStoredSinceIsNewer) {
  server_.append(0, 0, 10);
  store(3);
  const auto begun = begin(kept(8, true));
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(4));
  EXPECT_EQ(kept_by_server(), 3);
}

TEST_F(IggyBeginning, ANoOffsetThatStaysIsNotBelievedOfWhatWasRead) {
  server_.append(0, 0, 10);
  options_.start.kind = StreamStart::Kind::latest;
  for (const bool yielded : {false, true}) {
    const auto begun = begin(kept(8, yielded));
    ASSERT_TRUE(begun) << begun.error().message();
    EXPECT_EQ(begun->from, Watermark(8));
    EXPECT_EQ(kept_by_server(), 7);
    server_.control({{"fault", {{"on", "get_offset"}, {"do", "body"}, {"hex", ""}, {"times", 0}}}});
  }
  EXPECT_THAT(log_->all(), HasSubstr("the server says that it keeps no offset"));
}

TEST_F(IggyBeginning, ItKnowsTheMessageItBeginsBehindAndTheEnd) {
  server_.append(0, 0, 10);
  store(3);
  const auto begun = begin({});
  ASSERT_TRUE(begun) << begun.error().message();
  ASSERT_TRUE(begun->known);
  const auto told = server_.control({{"messages", kWhere}})[3];
  EXPECT_EQ(begun->known->offset, 3U);
  EXPECT_EQ(begun->known->timestamp, told["timestamp"].get<std::uint64_t>());
  EXPECT_EQ(std::to_string(begun->known->id.low), told["id"].get<std::string>());
  EXPECT_EQ(begun->server_end, Watermark(10));
}

TEST_F(IggyBeginning, INV1_NoMessageBeforeItIsHeldAgainstTheFigures) {
  server_.append(0, 0, 10);
  store(3);
  server_.control({{"fault", {{"on", "poll"}, {"do", "empty"}, {"where", {{"strategy", "offset"}}}}}});
  const auto refused = begin({});
  ASSERT_FALSE(refused) << "without it nothing tells that message from another one later";
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_THAT(refused.error().message(), HasSubstr("the server gives no message, though it says that it holds 10"));
  const auto begun = begin({});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_TRUE(begun->known);
}

TEST_F(IggyBeginning, INV1_AnotherMessageAtAnOffsetThatWasReadIsSaidWithBoth) {
  server_.append(0, 0, 10);
  store(8);
  Kept mine = kept(8);
  mine.known = KnownMessage{7, {1, 2}, 3};
  const auto begun = begin(mine);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), ErrorCode::drift);
  EXPECT_THAT(
      begun.error().message(),
      HasSubstr("the message at offset 7 (id 00000000000000020000000000000001, taken 1970-01-01T00:00:00.000003Z"));
  EXPECT_THAT(begun.error().message(), HasSubstr("the server holds offsets 0 to 9 now"));
  EXPECT_EQ(kept_by_server(), 8) << "nothing is changed where nothing is decided";
}

TEST_F(IggyBeginning, ALossLeavesNoOffsetThatWouldSkip) {
  server_.append(0, 0, 10);
  store(4);
  options_.on_position_lost = OnPositionLost::earliest;
  auto begun = begin(kept(5), Loss{"messages were lost", false});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(0));
  EXPECT_EQ(begun->stored, std::nullopt);
  EXPECT_EQ(kept_by_server(), -1);
  // A topic that was made anew, and another member that has read of it.
  store(6);
  begun = begin({}, Loss{"it was made anew", true});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(7));
}

// The newest messages were lost, and the oldest removed, of which some had not been read.
TEST_F(IggyBeginning, INV1_WhatWasRemovedIsSaidBesideWhatWasLost) {
  server_.append(0, 0, 5);
  server_.append(0, 5, 20);
  server_.append(0, 25, 9);
  server_.control({{"trim", {{"stream", "s"}, {"topic", "t"}, {"before", 25}}}});
  store(4);
  options_.on_position_lost = OnPositionLost::earliest;
  const auto begun = begin(kept(5), Loss{"messages were lost", false});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(25));
  EXPECT_THAT(log_->all(), HasSubstr("messages were lost; the server holds offsets 25 to 33 now"));
  EXPECT_THAT(log_->all(), HasSubstr("the kept position is 5, but the broker holds offsets 25 to 33: 20 records were "
                                     "removed before they were read"));
}

TEST_F(IggyBeginning, AnOffsetThatOthersOwnIsNotBegun) {
  options_.consumer.clear();
  options_.consumer_group = "mill";
  server_.create(1, "mill");
  server_.append(0, 0, 10);
  options_.start.kind = StreamStart::Kind::latest;
  const auto begun = begin({});  // nobody has joined
  ASSERT_FALSE(begun);
  EXPECT_TRUE(begun.error().is_retryable());
  EXPECT_THAT(begun.error().message(), HasSubstr("'s/t' partition 0 is another member's"));
}

TEST_F(IggyBeginning, APartitionThatRetentionHasEmptiedKeepsNoOffset) {
  server_.append(0, 0, 10);
  server_.control({{"trim", {{"stream", "s"}, {"topic", "t"}, {"before", 10}}}});
  server_.control({{"fault", {{"on", "store_offset"}, {"do", "status"}, {"code", 4100}}}});
  options_.start.kind = StreamStart::Kind::latest;
  const auto begun = begin({});
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->from, Watermark(10));
  EXPECT_EQ(begun->stored, std::nullopt);
  EXPECT_THAT(log_->all(), HasSubstr("the partition is empty"));
}

// What was lost is known until the lanes that begin with it are there: an answer that comes too late takes nothing
// along.
TEST_F(IggyBeginning, INV1_ALossOutlivesAnAnswerThatIsNotCurrent) {
  server_.append(0, 0, 10);
  store(4);
  options_.on_position_lost = OnPositionLost::earliest;
  options_.start.kind = StreamStart::Kind::latest;  // which would be said of a position that nobody knows of
  context_.clock = &Clock::real();
  const auto registry = std::make_shared<MetricRegistry>();
  const auto metrics = Metrics::make(Meter(registry, {}));
  ASSERT_TRUE(metrics);
  auto client = iggy::Client::make(client_options(options_, context_));
  ASSERT_TRUE(client);
  Positions positions;
  Atomic<int> wakes{0};
  Desk desk(options_, *std::move(client), context_, *metrics, positions,
            [&] { wakes.fetch_add(1, memory_order_relaxed); });
  desk.start();
  ASSERT_TRUE(testing::eventually([&] { return wakes.load(memory_order_relaxed) == 1; })) << "an assignment";
  const Assignment before = desk.assignment();
  Beginning beginning;
  beginning.from = Watermark(5);
  const auto feed = std::make_shared<LaneFeed>(beginning, 1 << 20U);
  desk.feeds({feed});
  desk.lost(*feed, "messages were lost");
  desk.lost(LaneFeed(beginning, 1 << 20U), "of a lane that is gone");
  EXPECT_EQ(desk.assignment().number, before.number + 1);
  EXPECT_THAT(desk.loss().value_or(""), HasSubstr("messages were lost"));
  // Of the assignment that is over by now.
  EXPECT_EQ(wakes.load(memory_order_relaxed), 2);
  desk.ask_beginnings(before);
  ASSERT_TRUE(testing::eventually([&] { return wakes.load(memory_order_relaxed) == 3; })) << "the answer";
  EXPECT_EQ(kept_by_server(), -1) << "it has begun, by what was lost";
  std::optional<Beginnings> begun = desk.take_beginnings();
  EXPECT_FALSE(begun);
  desk.ask_beginnings(desk.assignment());
  ASSERT_TRUE(testing::eventually([&] {
    begun = desk.take_beginnings();
    return begun.has_value();
  }));
  EXPECT_EQ(begun->lanes[0].from, Watermark(0)) << "as on_position_lost says";
  EXPECT_EQ(desk.loss(), std::nullopt);
  desk.close(Clock::real().now() + std::chrono::seconds(10));
}

}  // namespace
}  // namespace millrace::iggy_source
