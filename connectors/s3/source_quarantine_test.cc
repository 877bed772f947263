// SPDX-License-Identifier: Apache-2.0
// Goal: under on_object_error: quarantine a bad object costs itself and nothing else, and is forgotten by no crash
// (docs/adr/0011-quarantine.md). Method: objects that are damaged, refused, gone or overwritten at a chosen place; what
// is delivered and what the manifest names are compared with the lines that the objects were made of.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::StoreOp;
using ::testing::HasSubstr;

using Lines = std::vector<std::string>;

/// Small reads, so that an object is several, and two lanes.
struct QuarantiningRig : BackfillRig {
  explicit QuarantiningRig(std::shared_ptr<ObjectStore> inner, std::uint64_t number_of_lanes = 2)
      : BackfillRig(std::move(inner)) {
    options.lanes = number_of_lanes;
    options.on_object_error = OnObjectError::quarantine;
    options.chunk_bytes = {64};
    options.prefetch_bytes = {512};
    flags.take_over = true;  // of those that were killed
  }
};

class QuarantineTest : public SourceTest {
 protected:
  static std::uint64_t hash_of(const Lines& lines) {
    std::uint64_t hash = 0;
    for (const std::string& line : lines) hash = XXH3_64bits_withSeed(line.data(), line.size(), hash);
    return hash;
  }
  /// Runs again, as an operator would who changes nothing: nothing is read and nothing forgotten.
  void expect_nothing_new(std::size_t aside = 1, std::uint64_t lanes = 2) {
    const Quarantine before = stored().quarantined;
    QuarantiningRig rig(memory, lanes);
    ASSERT_EQ(message_of(rig.run()), "succeeded");
    EXPECT_TRUE(rig.records.empty());
    EXPECT_EQ(rig.source().progress().objects_quarantined, aside);
    EXPECT_EQ(stored().quarantined, before);
  }
};

TEST_F(QuarantineTest, D05_TheOtherFiveAreDelivered) {
  for (int i = 0; i < 6; ++i) memory->set(key(i) + ".gz", gzip_of(body(i, 400)));
  const std::string whole = memory->contents().at(key(2) + ".gz");
  memory->set(key(2) + ".gz", whole.substr(0, whole.size() / 2));
  for (int i = 0; i < 3; ++i) {
    BackfillRig rig(memory);
    rig.options.checkpoint.url = "s3://b/ck/default.json";
    const auto ran = rig.run();
    ASSERT_FALSE(ran) << "the default";
    EXPECT_EQ(ran.error().code(), ErrorCode::truncated);
  }
  QuarantiningRig rig(memory);
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  auto delivered = rig.by_object();
  ASSERT_EQ(delivered.size(), 6U);
  for (const int i : {0, 1, 3, 4, 5}) EXPECT_EQ(delivered.at(key(i) + ".gz"), lines_of(i, 400));
  const Manifest manifest = stored();
  EXPECT_TRUE(manifest.complete);
  ASSERT_EQ(manifest.quarantined.size(), 1U);
  const QuarantinedObject& aside = manifest.quarantined.front();
  EXPECT_EQ(aside.key, key(2) + ".gz");
  EXPECT_EQ(aside.lane, 0U);
  EXPECT_EQ(aside.ordinal, 1U);
  EXPECT_EQ(aside.size, whole.size() / 2);
  EXPECT_EQ(aside.byte, whole.size() / 2);
  EXPECT_EQ(aside.code, "truncated");
  EXPECT_THAT(aside.reason, HasSubstr("s3://b/in/o002.ndjson.gz"));
  EXPECT_GT(aside.records, 0U);
  EXPECT_LT(aside.records, 400U);
  Lines before = lines_of(2, 400);
  before.resize(aside.records);
  EXPECT_EQ(delivered.at(key(2) + ".gz"), before);
  EXPECT_EQ(aside.records_hash, hash_of(before));
  EXPECT_EQ(rig.metric("etl_s3_source_objects_quarantined_total"), 1);
  EXPECT_EQ(rig.source().progress().objects_done, 6U);
  EXPECT_EQ(rig.source().progress().bytes_done, rig.source().progress().bytes_total);
  EXPECT_EQ(rig.log->count("warn an object is set aside"), 1U);
  for (int i = 0; i < 3; ++i) expect_nothing_new();
}

// A record that the chain refuses, in the middle of a batch and of an object that is longer than all that may be read
// ahead: what is under way of it is given back, or the lane would never get on.
TEST_F(QuarantineTest, ARefusedRecordEndsItsObjectAndNothingElse) {
  fill(5, 300);
  for (const std::size_t batch : {1, 7, 4096}) {
    memory->erase(kManifest);
    QuarantiningRig rig(memory);
    rig.max_records = batch;
    rig.refuse = [](std::string_view line) { return line == R"({"o":2,"l":77})" || line == R"({"o":3,"l":0})"; };
    ASSERT_EQ(message_of(rig.run()), "succeeded");
    auto delivered = rig.by_object();
    for (const int i : {0, 1, 4}) EXPECT_EQ(delivered.at(key(i)), lines_of(i, 300));
    EXPECT_EQ(delivered.at(key(2)), lines_of(2, 77));
    EXPECT_FALSE(delivered.contains(key(3)));
    const Manifest manifest = stored();
    EXPECT_TRUE(manifest.complete);
    ASSERT_EQ(manifest.quarantined.size(), 2U);
    EXPECT_EQ(manifest.quarantined[0].records, 77U);
    EXPECT_EQ(manifest.quarantined[0].records_hash, hash_of(lines_of(2, 77)));
    EXPECT_EQ(manifest.quarantined[0].code, "malformed");
    EXPECT_EQ(manifest.quarantined[0].reason, "refused");
    EXPECT_EQ(manifest.quarantined[1].key, key(3));
    EXPECT_EQ(manifest.quarantined[1].records, 0U);
    expect_nothing_new(2);
  }
}

// The object has been read to its end when its last batch is refused: the batch's own ack ends it.
TEST_F(QuarantineTest, TheLastRecordOfAnObject) {
  fill(2, 3);
  QuarantiningRig rig(memory, 1);
  rig.refuse = [](std::string_view line) { return line == R"({"o":0,"l":2})"; };
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.by_object().at(key(0)), lines_of(0, 2));
  EXPECT_EQ(rig.by_object().at(key(1)), lines_of(1));
  const Manifest manifest = stored();
  EXPECT_TRUE(manifest.complete);
  ASSERT_EQ(manifest.quarantined.size(), 1U);
  EXPECT_EQ(manifest.quarantined[0].records_hash, hash_of(lines_of(0, 2)));
}

// What came before the fault is not written yet: the position stays before it, and the object in no manifest.
TEST_F(QuarantineTest, INV1_NothingIsSetAsideBeforeWhatCameBeforeIsDurable) {
  fill(2, 10);
  QuarantiningRig rig(memory, 1);
  rig.max_records = 4;
  rig.hold_acks = true;
  rig.refuse = [](std::string_view line) { return line == R"({"o":0,"l":6})"; };
  ASSERT_TRUE(rig.open());
  ASSERT_TRUE(rig.poll_records(SIZE_MAX));
  rig.acknowledge(0, 1);  // lines 0 to 3
  ASSERT_EQ(message_of(rig.commit()), "succeeded");
  EXPECT_EQ(rig.committed.at(0), 4);
  EXPECT_TRUE(stored().quarantined.empty());
  EXPECT_EQ(rig.source().progress().objects_quarantined, 1U) << "on its way";
  // Lines 4 and 5; the rest of their batch was settled when it was refused. The position is the object's end: nothing
  // of it is read any more.
  rig.acknowledge(0, 1);
  ASSERT_EQ(message_of(rig.commit()), "succeeded");
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records, 6U);
  EXPECT_TRUE(stored().position(0)->position().object_complete());
  EXPECT_EQ(stored().position(0)->position().ordinal, 0U);
  rig.kill();
  QuarantiningRig second(memory, 1);
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.by_object().size(), 1U);
  EXPECT_EQ(second.by_object().at(key(1)), lines_of(1, 10));
  EXPECT_TRUE(stored().complete);
  EXPECT_EQ(stored().quarantined.size(), 1U);
}

// A commit that fails is made again with the same watermark, which lies inside the object.
TEST_F(QuarantineTest, INV1_ACommitThatIsMadeAgainDoesNotGoBackIntoTheObject) {
  fill(1, 10);
  QuarantiningRig rig(memory, 1);
  rig.max_records = 4;
  rig.refuse = [](std::string_view line) { return line == R"({"o":0,"l":5})"; };
  ASSERT_TRUE(rig.open());
  while (rig.records.size() < 5) ASSERT_TRUE(rig.poll(0));
  const PartitionWatermark inside{PartitionId(0), Watermark(8)};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rig.source().commit(std::span(&inside, 1)));
    ASSERT_TRUE(rig.source().flush_commits());
    EXPECT_TRUE(stored().position(0)->position().object_complete());
    EXPECT_EQ(stored().quarantined.size(), 1U);
  }
}

// F05: gone when it is read; put back, it is still what is set aside, and nothing of it is read before it is asked for.
// Nor is any of it drift, however much it changes.
TEST_F(QuarantineTest, F05_AnObjectThatIsGoneIsSetAsideAndMendingItIsNoDrift) {
  fill(4);
  QuarantiningRig rig(memory);
  rig.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->erase(key(1)); }});
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.by_object().size(), 3U);
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].key, key(1));
  EXPECT_EQ(stored().quarantined[0].code, "drift");
  EXPECT_THAT(stored().quarantined[0].reason, HasSubstr("was deleted"));
  EXPECT_THAT(stored().quarantined[0].reason, HasSubstr("--retry-quarantined"));
  expect_nothing_new();
  memory->set(key(1), "{\"mended\":true}\n");
  expect_nothing_new();
  QuarantiningRig strict(memory);
  strict.options.frozen = Frozen::strict;
  EXPECT_EQ(message_of(strict.run()), "succeeded");
  EXPECT_TRUE(strict.records.empty());
  // What comes behind every position is read as ever, by lanes that count with the object.
  memory->set(key(4), body(4));
  QuarantiningRig more(memory);
  ASSERT_EQ(message_of(more.run()), "succeeded");
  EXPECT_EQ(more.by_object().size(), 1U);
  EXPECT_EQ(more.by_object().at(key(4)), lines_of(4));
  EXPECT_EQ(stored().quarantined.size(), 1U);
  // Another object behind the positions must not change all the same.
  memory->set(key(0), "changed\n");
  QuarantiningRig drifted(memory);
  const auto ran = drifted.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), ErrorCode::drift);
}

TEST_F(QuarantineTest, F05_AnObjectThatIsOverwrittenWhileItIsRead) {
  fill(3, 100);
  QuarantiningRig rig(memory, 1);
  rig.store->add({.op = StoreOp::read, .key = key(1), .nth = 3, .before = [&] { memory->set(key(1), body(9, 100)); }});
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.by_object().at(key(0)), lines_of(0, 100));
  EXPECT_EQ(rig.by_object().at(key(2)), lines_of(2, 100));
  ASSERT_EQ(stored().quarantined.size(), 1U);
  const QuarantinedObject aside = stored().quarantined[0];
  Lines before = lines_of(1, 100);
  before.resize(aside.records);
  EXPECT_GT(aside.records, 0U);
  EXPECT_EQ(rig.by_object().at(key(1)), before) << "nothing of the new version";
  EXPECT_EQ(aside.records_hash, hash_of(before));
  EXPECT_THAT(aside.reason, HasSubstr("was overwritten"));
  expect_nothing_new(1, 1);
}

// Its committed records are counted off again, and belong to what proves that a mended object is the same.
TEST_F(QuarantineTest, AResumedObjectCountsWhatEarlierRunsDelivered) {
  fill(1, 20);
  {
    QuarantiningRig first(memory);
    ASSERT_EQ(message_of(first.commit_and_die(5)), "succeeded");
  }
  QuarantiningRig second(memory, 1);
  second.refuse = [](std::string_view line) { return line == R"({"o":0,"l":9})"; };
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records.size(), 4U);
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records, 9U);
  EXPECT_EQ(stored().quarantined[0].records_hash, hash_of(lines_of(0, 9)));
}

// Overwritten between the listing and the read that would count them off: how many were delivered is known, and their
// hash is not.
TEST_F(QuarantineTest, AResumedObjectThatIsOverwrittenKeepsWhatIsCommitted) {
  fill(2, 20);
  {
    QuarantiningRig first(memory);
    ASSERT_EQ(message_of(first.commit_and_die(5)), "succeeded");
  }
  QuarantiningRig second(memory, 1);
  second.store->add({.op = StoreOp::read, .key = key(0), .before = [&] { memory->set(key(0), "new\n"); }});
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.by_object().size(), 1U);
  EXPECT_EQ(second.by_object().at(key(1)), lines_of(1, 20));
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records, 5U);
  EXPECT_EQ(stored().quarantined[0].records_hash, kHashUnknown);
}

TEST_F(QuarantineTest, AStoreThatRefusesEndsTheRunAsEver) {
  fill(3);
  QuarantiningRig rig(memory);
  rig.store->add({.op = StoreOp::read,
                  .key = key(1),
                  .times = testing::Fault::kAlways,
                  .error = Error::fatal(ErrorCode::permission_denied, "AccessDenied")});
  const auto ran = rig.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), ErrorCode::permission_denied);
  EXPECT_TRUE(stored().quarantined.empty());
}

TEST_F(QuarantineTest, SoManyThatItIsNoMatterOfObjects) {
  for (std::size_t i = 0; i <= kMostQuarantined; ++i) memory->set(fmt::format("in/{:06}", i), "too long\n");
  QuarantiningRig rig(memory);
  rig.options.max_record_bytes = {3};
  const auto ran = rig.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), ErrorCode::limit);
  EXPECT_THAT(message_of(ran), HasSubstr("more than 10000 objects cannot be read"));
  EXPECT_FALSE(stored().complete);
  EXPECT_EQ(rig.log->count("warn an object is set aside"), 1U) << "each kind is said once";
}

}  // namespace
}  // namespace millrace::s3_source
