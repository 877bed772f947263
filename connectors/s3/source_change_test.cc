// SPDX-License-Identifier: Apache-2.0
// Goal: what is advised about an object that changes while it is read is enough, and no more than that. Method: objects
// of a memory store replaced or removed at a chosen read; then the advice is followed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::StoreOp;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ChangeWhileReading : public SourceTest {
 protected:
  /// One lane that commits whatever it has read when it fails.
  std::string failure_of(BackfillRig& rig) {
    rig.options.lanes = 1;
    rig.options.chunk_bytes = {1000};
    rig.options.prefetch_bytes = {2000};
    EXPECT_TRUE(rig.open());
    const auto read = rig.poll_records(SIZE_MAX);
    EXPECT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::drift);
    EXPECT_TRUE(rig.commit());
    rig.close();
    return message_of(read);
  }
  Result<void> run_again(BackfillRig& rig) {
    rig.options.lanes = 1;
    return rig.run();
  }
};

TEST_F(ChangeWhileReading, F05_AnObjectThatWasNotBegunNeedsOnlyAnotherRun) {
  fill(3);
  BackfillRig first(memory);
  first.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->set(key(1), "new\n"); }});
  EXPECT_THAT(failure_of(first), AllOf(HasSubstr("was overwritten after it was listed"), HasSubstr("run again"),
                                       Not(HasSubstr("--reset"))));
  BackfillRig second(memory);
  ASSERT_EQ(message_of(run_again(second)), "succeeded");
  EXPECT_EQ(second.by_object().size(), 2U);
  EXPECT_EQ(second.by_object().at(key(1)), std::vector<std::string>{"new"});
}

TEST_F(ChangeWhileReading, F05_WithoutETagsAsWell) {
  memory =
      std::make_shared<testing::MemoryStore>(testing::MemoryStore::Options{.etags = testing::MemoryStore::Tags::weak});
  fill(3);
  BackfillRig first(memory);
  first.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->set(key(1), body(7)); }});
  EXPECT_THAT(failure_of(first), AllOf(HasSubstr("was overwritten after it was listed"), HasSubstr("run again"),
                                       Not(HasSubstr("--reset"))));
  BackfillRig second(memory);
  ASSERT_EQ(message_of(run_again(second)), "succeeded");
  EXPECT_EQ(second.by_object().at(key(1)), lines_of(7));
}

TEST_F(ChangeWhileReading, F05_AnObjectThatVanishedBehindEveryPositionNeedsOnlyAnotherRun) {
  fill(3);
  BackfillRig first(memory);
  first.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->erase(key(1)); }});
  EXPECT_THAT(failure_of(first),
              AllOf(HasSubstr("was deleted after it was listed"), HasSubstr("or run again without it"),
                    HasSubstr("behind every committed position")));
  BackfillRig second(memory);
  ASSERT_EQ(message_of(run_again(second)), "succeeded");
  EXPECT_EQ(second.by_object().size(), 1U);
  EXPECT_EQ(second.by_object().at(key(2)), lines_of(2));
}

// The first part was read and may be committed before the second one fails.
TEST_F(ChangeWhileReading, F05_OnceRecordsAreOnTheirWayBothIsSaid) {
  memory->set("in/a", std::string(400, 'a') + "\n" + std::string(5000, 'b') + "\n");
  BackfillRig first(memory);
  first.store->add({.op = StoreOp::read, .nth = 2, .before = [&] { memory->set("in/a", std::string(6000, 'c')); }});
  EXPECT_THAT(failure_of(first), AllOf(HasSubstr("as long as no record of it is committed"),
                                       HasSubstr("put the old one back or"), HasSubstr("--reset")));
}

TEST_F(ChangeWhileReading, F05_CommittedRecordsNeedTheOldObject) {
  memory->set("in/a", "1\n2\n3\n");
  BackfillRig begun(memory);
  begun.options.lanes = 1;
  begun.max_records = 1;
  ASSERT_TRUE(begun.open());
  ASSERT_TRUE(begun.poll_records(1));
  ASSERT_TRUE(begun.commit());
  begun.close();
  BackfillRig first(memory);
  first.store->add({.op = StoreOp::read, .before = [&] { memory->set("in/a", "4\n"); }});
  EXPECT_THAT(failure_of(first),
              AllOf(HasSubstr("Put the old one back, or start over with --reset"), Not(HasSubstr("un again"))));
}

// A store that cannot answer just then is no reason to forget the listing that the first run kept.
TEST_F(ChangeWhileReading, F05_TheKeptListingOutlivesAnOutage) {
  memory->set("in/a", "1\n2\n");
  BackfillRig first(memory);
  ASSERT_EQ(message_of(run_again(first)), "succeeded");
  const StoredRecord kept = stored().kept_listing;
  ASSERT_FALSE(kept.name.empty());
  memory->set("in/b", "3\n");
  BackfillRig away(memory);
  away.store->add({.op = StoreOp::get, .key = kept.name, .error = Error::retryable(ErrorCode::unavailable, "503")});
  ASSERT_EQ(message_of(run_again(away)), "succeeded");
  EXPECT_EQ(away.store->hits(), 1U);
  EXPECT_EQ(stored().kept_listing, kept);
  // One that is gone is kept anew.
  memory->erase("ck/" + kept.name);
  memory->set("in/c", "4\n");
  BackfillRig gone(memory);
  ASSERT_EQ(message_of(run_again(gone)), "succeeded");
  EXPECT_NE(stored().kept_listing, kept);
}

TEST_F(ChangeWhileReading, F05_FrozenStrictAllowsNoOtherVersion) {
  fill(2);
  BackfillRig first(memory);
  first.options.frozen = Frozen::strict;
  first.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->set(key(1), "new\n"); }});
  EXPECT_THAT(failure_of(first), HasSubstr("Put the old one back, or start over with --reset"));
}

}  // namespace
}  // namespace millrace::s3_source
