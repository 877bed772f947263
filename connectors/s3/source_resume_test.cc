// SPDX-License-Identifier: Apache-2.0
// Resume of the S3 source: killed and run again, with other settings, other objects, other owners and damaged
// manifests. Driven by hand; the expected records are those that were put into the store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/source_fixture.h"
#include "connectors/s3/status.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

TEST_F(SourceTest, F03_ResumeGoesByKeyAndETagNotByTime) {
  for (int i = 0; i < 5; ++i) memory->set(key(i), body(i), {.last_modified = 1'767'225'600'000'000});
  BackfillRig first(memory);
  first.options.lanes = 1;
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(6));
  ASSERT_TRUE(first.commit());
  first.kill();
  BackfillRig second(memory);
  second.options.lanes = 1;
  second.flags.take_over = true;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  ASSERT_EQ(second.by_object().size(), 3U);
  for (int i = 2; i < 5; ++i) EXPECT_EQ(second.by_object().at(key(i)), lines_of(i));
}

TEST_F(SourceTest, ResumeInsideAnObjectDiscardsExactlyTheCommittedRecords) {
  memory->set("in/a", "1\n\n2\r\n   \n3\n4");  // blanks are no records (C04)
  ASSERT_TRUE(BackfillRig(memory).commit_and_die(2));
  EXPECT_EQ(stored().position(0)->position(), (Position{0, 2}));
  BackfillRig second(memory);
  second.options.lanes = 1;
  second.flags.take_over = true;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records, (std::vector<Record>{{0, 2, "3", "in/a"}, {0, 3, "4", "in/a"}}));
}

TEST_F(SourceTest, ResumeBehindTheLastRecordOfAnObjectOnlyCompletesIt) {
  memory->set("in/a", "1\n2\n");
  memory->set("in/b", "3\n");
  BackfillRig first(memory);
  first.options.lanes = 1;
  first.max_records = 1;
  first.hold_acks = true;
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(2));
  // The second record's batch also ends the object; hand the first one's position to the manifest by hand.
  first.acknowledge(0, 1);
  ASSERT_TRUE(first.commit());
  first.kill();
  Manifest manifest = stored();
  manifest.positions[0].watermark = Watermark(2);  // both records, but the object's end was not seen
  memory->set(kManifest, to_json(manifest));
  BackfillRig second(memory);
  second.options.lanes = 1;
  second.flags.take_over = true;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records, (std::vector<Record>{{0, std::int64_t{1} << 40, "3", "in/b"}}));
  EXPECT_TRUE(stored().complete);
}

TEST_F(SourceTest, F07_EveryPartitionIsFinishedOnResume) {
  for (const char* folder : {"in/p=0/", "in/p=1/", "in/p=2/"}) fill(50, 2, folder);
  BackfillRig first(memory);
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(150));
  ASSERT_TRUE(first.commit());
  first.kill();
  BackfillRig second(memory);
  second.flags.take_over = true;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  std::map<std::string, int> seen;
  for (const auto* rig : {&first, &second}) {
    for (const Record& record : rig->records) ++seen[record.object + record.bytes];
  }
  EXPECT_EQ(seen.size(), 300U);
  for (const auto& [record, times] : seen) EXPECT_EQ(times, 1) << record;
  const Manifest manifest = stored();
  EXPECT_EQ(objects_done(manifest), 150U);
  for (std::uint64_t lane = 0; lane < 4; ++lane) {
    EXPECT_EQ(lane_status(manifest, lane).objects_done, lane < 2 ? 38U : 37U);
  }
}

TEST_F(SourceTest, F10_ADamagedManifestStopsBeforeAnythingIsRead) {
  fill(3);
  for (const std::string& junk : {std::string(), std::string("{}"), std::string("\xEF\xBB\xBF{}"),
                                  std::string(100U << 20U, 'j'), std::string("{\"schema\": 2}")}) {
    memory->set(kManifest, junk);
    memory->clear_requests();
    BackfillRig rig(memory);
    const auto run = rig.run();
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), ErrorCode::manifest);
    EXPECT_NE(message_of(run).find("s3://b/ck/manifest.json"), std::string::npos);
    EXPECT_NE(message_of(run).find("--reset"), std::string::npos);
    EXPECT_EQ(memory->count(StoreOp::read), 0U);
    EXPECT_EQ(memory->count(StoreOp::put), 0U) << "no silent fresh start";
  }
}

TEST_F(SourceTest, F12_TwoRunsOnOneManifest) {
  fill(3);
  BackfillRig one(memory);
  ASSERT_TRUE(one.open());
  while (stored().kept_listing.name.empty()) {
  }  // the first one saves no more by itself
  BackfillRig two(memory);
  two.flags.take_over = true;
  ASSERT_TRUE(two.open());
  // The first one finds out at its next commit, and its lanes end as well.
  ASSERT_TRUE(one.poll_records(1));
  const auto committed = one.commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code(), ErrorCode::fenced);
  EXPECT_NE(message_of(committed).find("--take-over"), std::string::npos);
  const auto polled = one.lanes[1]->poll(10, std::chrono::seconds(20));
  ASSERT_FALSE(polled);
  EXPECT_EQ(polled.error().code(), ErrorCode::fenced);
  ASSERT_TRUE(two.poll_records(SIZE_MAX));
  ASSERT_TRUE(two.commit());
  EXPECT_TRUE(stored().complete);
}

// The owner commits once more between the newcomer's look and its claim: the newcomer begins where the owner is then.
TEST_F(SourceTest, F12_ATakeOverThatASaveOfTheOwnerCrosses) {
  fill(4);
  BackfillRig owner(memory);
  owner.options.lanes = 1;
  ASSERT_TRUE(owner.open());
  ASSERT_TRUE(owner.poll_records(3));
  ASSERT_TRUE(owner.commit());
  const std::string before = memory->contents().at(kManifest);
  ASSERT_TRUE(owner.poll_records(6));
  ASSERT_TRUE(owner.commit());
  owner.kill();
  const std::string after = memory->contents().at(kManifest);
  memory->set(kManifest, before);
  BackfillRig newcomer(memory);
  newcomer.options.lanes = 1;
  newcomer.flags.take_over = true;
  newcomer.store->add({.op = StoreOp::put, .key = kManifest, .before = [&] { memory->set(kManifest, after); }});
  ASSERT_EQ(message_of(newcomer.run()), "succeeded");
  ASSERT_EQ(newcomer.by_object().size(), 1U);
  EXPECT_EQ(newcomer.by_object().at(key(3)), lines_of(3));
  EXPECT_TRUE(stored().complete);
}

TEST_F(SourceTest, F13_ExpectResumeWantsAManifest) {
  fill(3);
  BackfillRig rig(memory);
  rig.flags.expect_resume = true;
  const auto run = rig.run();
  ASSERT_FALSE(run);
  EXPECT_NE(message_of(run).find("--expect-resume"), std::string::npos);
  BackfillRig first(memory);
  ASSERT_TRUE(first.run());
  EXPECT_EQ(first.log->count("this is a first run"), 1U);
  BackfillRig second(memory);
  second.flags.expect_resume = true;
  EXPECT_TRUE(second.run());
}

TEST_F(SourceTest, ResetReadsEverythingAgain) {
  fill(3);
  {
    BackfillRig first(memory);
    ASSERT_TRUE(first.run());
  }
  BackfillRig again(memory);
  again.flags.reset = true;
  ASSERT_TRUE(again.run());
  EXPECT_EQ(again.records.size(), 9U);
}

class Drift : public SourceTest {
 protected:
  // Two lanes over ten objects; four objects committed: places 0 to 3.
  void SetUp() override {
    fill(10);
    BackfillRig first(memory);
    first.options.lanes = 2;
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(first.poll_records(12));
    ASSERT_TRUE(first.commit());
    first.close();
    ASSERT_EQ(objects_done(stored()), 4U);
  }
  Result<void> resume(Frozen frozen = Frozen::below) {
    rig = std::make_unique<BackfillRig>(memory);
    rig->options.lanes = 2;
    rig->options.frozen = frozen;
    return rig->run();
  }
  void expect_drift(const Result<void>& run, const std::vector<std::string>& parts) {
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), ErrorCode::drift);
    EXPECT_TRUE(rig->records.empty());
    for (const auto& part : parts)
      EXPECT_NE(message_of(run).find(part), std::string::npos) << part << " in " << message_of(run);
  }
  std::unique_ptr<BackfillRig> rig;
};

TEST_F(Drift, AnOverwriteAtACommittedPosition) {
  const std::string etag = stored().position(1)->etag;
  memory->set(key(3), "changed\n");
  expect_drift(resume(), {"lane 1", key(3), "ETag was", etag, "--reset"});
}
TEST_F(Drift, AnOverwriteBelowACommittedPosition) {
  memory->set(key(0), "changed\n");
  expect_drift(resume(), {"lane 0", "prefix hash", "--reset"});
}
TEST_F(Drift, AKeyAddedBelow) {
  memory->set("in/a_new", "x\n");
  expect_drift(resume(), {"key was", key(2), "is '" + key(1) + "' now"});
}
TEST_F(Drift, AKeyRemovedBelow) {
  memory->erase(key(1));
  expect_drift(resume(), {"key was", key(2), "is '" + key(3) + "' now"});
}
TEST_F(Drift, EverythingIsGone) {
  for (int i = 0; i < 10; ++i) memory->erase(key(i));
  expect_drift(resume(), {"gone: the lane has 0 objects"});
}
TEST_F(Drift, KeysAddedBehindEveryPositionAreRead) {
  memory->set("in/z_new", "{\"new\":1}\n");
  ASSERT_EQ(message_of(resume()), "succeeded");
  EXPECT_EQ(rig->records.size(), 19U);
  EXPECT_EQ(rig->by_object().at("in/z_new"), std::vector<std::string>{"{\"new\":1}"});
  EXPECT_EQ(rig->log->count("the listing had 10 objects with 420 bytes and has 11 with 430 now"), 1U)
      << rig->log->all();
}
TEST_F(Drift, KeysRemovedBehindEveryPositionAreLeftOut) {
  memory->erase(key(9));
  ASSERT_EQ(message_of(resume()), "succeeded");
  EXPECT_EQ(rig->records.size(), 15U);
}
TEST_F(Drift, FrozenStrictAllowsNoChangeAtAll) {
  memory->set("in/z_new", "x\n");
  expect_drift(resume(Frozen::strict), {"frozen: strict", "10 objects", "has 11"});
}
TEST_F(Drift, FrozenStrictGoesOnUnchanged) { EXPECT_EQ(message_of(resume(Frozen::strict)), "succeeded"); }

TEST_F(SourceTest, AnObjectThatHasFewerRecordsThanWereCommittedIsDrift) {
  // A store whose ETag does not change with the bytes: only counting finds it.
  memory->set("in/a", "1\n2\n3\n4\n");
  BackfillRig first(memory);
  first.options.lanes = 1;
  first.max_records = 1;
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(3));
  ASSERT_TRUE(first.commit());
  first.close();
  Manifest manifest = stored();
  manifest.positions[0].watermark = Watermark(5);
  memory->set(kManifest, to_json(manifest));
  BackfillRig second(memory);
  second.options.lanes = 1;
  const auto run = second.run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::drift);
  EXPECT_NE(message_of(run).find("it has 4 records, but 5 of it are committed"), std::string::npos) << message_of(run);
}

TEST_F(SourceTest, B10_WithoutAPinNoResumeInsideAnObject) {
  for (const auto tags : {MemoryStore::Tags::none, MemoryStore::Tags::weak}) {
    memory = std::make_shared<MemoryStore>(MemoryStore::Options{.etags = tags});
    memory->set("in/a", "1\n2\n3\n");
    memory->set("in/b", "4\n");
    BackfillRig first(memory);
    first.options.lanes = 1;
    first.max_records = 1;
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(first.poll_records(1));
    ASSERT_TRUE(first.commit());
    first.close();
    BackfillRig second(memory);
    second.options.lanes = 1;
    const auto run = second.run();
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code(), ErrorCode::drift);
    EXPECT_NE(message_of(run).find("nothing proves that it is still the same object"), std::string::npos);
  }
}

TEST_F(SourceTest, B10_WithoutAPinResumeBetweenObjectsWorks) {
  memory = std::make_shared<MemoryStore>(MemoryStore::Options{.etags = MemoryStore::Tags::none});
  memory->set("in/a", "1\n2\n3\n");
  memory->set("in/b", "4\n");
  BackfillRig first(memory);
  first.options.lanes = 1;
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(3));
  ASSERT_TRUE(first.commit());
  first.close();
  BackfillRig second(memory);
  second.options.lanes = 1;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records.size(), 1U);
}

}  // namespace
}  // namespace millrace::s3_source
