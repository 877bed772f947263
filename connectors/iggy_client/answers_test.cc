// SPDX-License-Identifier: Apache-2.0
// Goal: an answer that is sound in itself is still held against what was asked. Method: a fake server told to answer
// for another partition, or as a real one does when things are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_rig/client_pair.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;

class Answers : public ::testing::TestWithParam<Framing> {
 protected:
  const std::string framing_{to_string(GetParam())};
};

TEST_P(Answers, MessagesOfAnotherPartitionAreRefused) {
  Pair pair(framing_);
  // Partition 0 of the reply's prefix becomes 1, and with it that of the batch where there is one.
  pair.fault({{"on", "poll"}, {"do", "corrupt"}, {"at", 0}, {"xor", 1}});
  if (framing_ == "vsr") {
    EXPECT_FALSE(pair.poll());
    return;
  }
  const auto other = pair.poll();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::bad_response);
  EXPECT_THAT(other.error().message(), HasSubstr("of partition 1"));
}

TEST_P(Answers, AnOffsetOfAnotherPartitionIsRefused) {
  Pair pair(framing_);
  ASSERT_EQ(*pair.client->store_offset(kOne, kTopic, 0, 1), StoreOutcome::stored);
  pair.fault({{"on", "get_offset"}, {"do", "corrupt"}, {"at", 0}, {"xor", 1}});
  const auto other = pair.client->get_offset(kOne, kTopic, 0);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::bad_response);
}

TEST_P(Answers, AStoredOffsetThatCannotBeCountedIsRefused) {
  Pair pair(framing_);
  ASSERT_EQ(*pair.client->store_offset(kOne, kTopic, 0, 1), StoreOutcome::stored);
  // The highest bytes of the last offset and of the stored one.
  for (const int at : {11, 19}) {
    pair.fault({{"on", "get_offset"}, {"do", "corrupt"}, {"at", at}, {"xor", 128}});
    const auto beyond = pair.client->get_offset(kOne, kTopic, 0);
    ASSERT_FALSE(beyond) << at;
    EXPECT_EQ(beyond.error().code(), ErrorCode::bad_response);
  }
}

// A server of 0.8 answers so to a member whose partition it is not; one of 0.9 when something went wrong.
TEST_P(Answers, AnEmptyAnswerForAnotherPartition) {
  Pair pair(framing_);
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.fault({{"on", "poll"}, {"do", "empty"}, {"times", 2}});
  PolledMessages polled;
  ASSERT_TRUE(pair.client->poll({Consumer::group(kGroup), kTopic, 1, PollFrom::offset(0), 10}, polled));
  EXPECT_EQ(polled.not_ours(), framing_ == "classic");
  EXPECT_FALSE(polled.not_a_member()) << "it is one, of others' partition";
  EXPECT_TRUE(polled.messages().empty());
  ASSERT_TRUE(pair.client->poll({kOne, kTopic, 1, PollFrom::offset(0), 10}, polled));
  EXPECT_FALSE(polled.not_ours());
}

TEST_P(Answers, AGroupThatIsGoneWithItsTopicIsLeft) {
  Pair pair(framing_);
  for (const int code : {1009, 1010, 2010, 2011}) {
    ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
    pair.fault({{"on", "leave"}, {"do", "status"}, {"code", code}});
    EXPECT_TRUE(pair.client->leave(kTopic, kGroup)) << code;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Answers, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

}  // namespace
}  // namespace millrace::iggy
