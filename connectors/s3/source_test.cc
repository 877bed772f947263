// SPDX-License-Identifier: Apache-2.0
// The S3 source from open to close, driven by hand with a bare checkpointer: completion, manifest, resume, drift. The
// expected records are those that were put into the store.
#include "connectors/s3/source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/source_fixture.h"
#include "connectors/s3/status.h"
#include "millrace/record/record_place.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

TEST_F(SourceTest, ReadsEveryRecordOnceInOrderAndCompletes) {
  fill(10);
  BackfillRig rig(memory);
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  ASSERT_EQ(rig.records.size(), 30U);
  const auto by_object = rig.by_object();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(by_object.at(key(i)), lines_of(i)) << i;
  // Object 5 of the sorted listing is the second of lane 1.
  for (const Record& record : rig.records) {
    if (record.object == key(5)) {
      EXPECT_EQ(record.lane, 1U);
      EXPECT_EQ(record.offset >> 40, 1);
    }
  }
  const Manifest manifest = stored();
  EXPECT_TRUE(manifest.complete);
  EXPECT_TRUE(manifest.owner.released);
  EXPECT_EQ(manifest.listing.objects, 10U);
  ASSERT_EQ(manifest.positions.size(), 4U);
  EXPECT_EQ(manifest.position(0)->key, key(8));
  EXPECT_TRUE(manifest.position(3)->position().object_complete());
  EXPECT_EQ(rig.metric("etl_s3_source_objects_listed_total"), 10);
  EXPECT_EQ(rig.metric("etl_s3_source_objects_completed_total"), 10);
  EXPECT_EQ(rig.metric("etl_s3_source_objects_remaining"), 0);
  EXPECT_EQ(rig.metric("etl_s3_source_bytes_read_total"), 10 * 3 * 14);
  EXPECT_EQ(rig.metric("etl_s3_source_bytes_decoded_total"), 10 * 3 * 14);
  EXPECT_EQ(rig.metric("etl_s3_source_get_retries_total"), 0);
}

TEST_F(SourceTest, LanesAreAssignedOnceThenTheSourceIsFinished) {
  fill(1);
  BackfillRig rig(memory);
  ASSERT_TRUE(rig.open());
  EXPECT_EQ(rig.lanes.size(), 4U);
  EXPECT_TRUE(rig.source().bounded());
  EXPECT_TRUE(std::holds_alternative<Finished>(*rig.source().poll_events(Duration(0))));
}

TEST_F(SourceTest, ABatchKnowsWhereItsRecordsComeFrom) {
  memory->set("in/a.ndjson", "{}\n", {.last_modified = 1'600'000'000'000'000});
  BackfillRig rig(memory);
  rig.options.name = "exports";
  ASSERT_TRUE(rig.open());
  const auto polled = rig.lanes[0]->poll(10, std::chrono::seconds(20));
  ASSERT_TRUE(polled);
  const auto& batch = std::get<PayloadBatch>(*polled);
  EXPECT_EQ(batch.timestamp, 1'600'000'000'000'000);
  ASSERT_NE(batch.origin, nullptr);
  EXPECT_EQ(batch.origin->stream, "pipe");
  EXPECT_EQ(batch.origin->topic, "exports");
  EXPECT_EQ(batch.origin->bucket, "b");
  EXPECT_EQ(batch.origin->object, "in/a.ndjson");
  EXPECT_FALSE(batch.origin->etag.empty());
  EXPECT_EQ(batch.readable_padding, kBytePadding);
}

TEST_F(SourceTest, SmallPlainObjectsTakeOneGetAndOneBatchEach) {
  fill(10);
  BackfillRig rig(memory);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.batches, 10U);
  EXPECT_EQ(memory->count(StoreOp::read), 10U);
  for (const auto& request : memory->requests()) {
    EXPECT_TRUE(request.op != StoreOp::read || request.pinned);
  }
}

TEST_F(SourceTest, M07_NoObjectsAtAll) {
  BackfillRig rig(memory);
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_TRUE(rig.all_exhausted());
  EXPECT_EQ(rig.lanes.size(), 0U);
  EXPECT_TRUE(stored().complete);
  EXPECT_EQ(rig.log->count("no object to read under s3://b/in/: 0 keys listed"), 1U) << rig.log->all();
}

TEST_F(SourceTest, M07_OnlyEmptyObjects) {
  for (int i = 0; i < 9; ++i) memory->set(fmt::format("in/{}{}", i, i % 2 == 0 ? "/" : ""), "");
  BackfillRig rig(memory);
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_TRUE(rig.records.empty());
  EXPECT_EQ(rig.batches, 4U) << "one empty batch completes a lane's whole run of them";
  EXPECT_EQ(memory->count(StoreOp::read), 0U);
  EXPECT_TRUE(stored().complete);
  EXPECT_EQ(rig.metric("etl_s3_source_objects_completed_total"), 9);
}

TEST_F(SourceTest, M07_OneObjectAndEightLanes) {
  fill(1);
  BackfillRig rig(memory);
  rig.options.lanes = 8;
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.records.size(), 3U);
  EXPECT_TRUE(stored().complete);
}

TEST_F(SourceTest, C01_EmptyObjectsBetweenGoodOnes) {
  memory->set("in/a.ndjson", "1\n");
  memory->set("in/b.ndjson.gz", "");
  memory->set("in/c.ndjson.zst", "");
  memory->set("in/d.ndjson", "");
  memory->set("in/e.ndjson", "2\n");
  BackfillRig rig(memory);
  rig.options.lanes = 1;
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.records.size(), 2U);
  EXPECT_TRUE(stored().complete);
  EXPECT_EQ(stored().position(0)->key, "in/e.ndjson");
}

TEST_F(SourceTest, E06_EmptyMayFailAndTellsTheCounts) {
  fill(3);
  BackfillRig rig(memory);
  rig.options.include = {"*.parquet"};
  rig.options.on_empty = OnEmpty::fail;
  const auto run = rig.run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::not_found);
  EXPECT_NE(message_of(run).find("s3://b/in/: 3 keys listed, 3 of them filtered out"), std::string::npos)
      << message_of(run);
  EXPECT_EQ(memory->contents().count(kManifest), 0U);
}

TEST(FitsLanes, TheLimitOfObjectsPerLaneIsCheckedBeforeAnyOffset) {
  EXPECT_TRUE(fits_lanes(8'388'608, 1, "s3://b/in/"));
  EXPECT_TRUE(fits_lanes(4 * 8'388'608ULL, 4, "s3://b/in/"));
  const auto over = fits_lanes(4 * 8'388'608ULL + 1, 4, "s3://b/in/");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code(), ErrorCode::limit);
  EXPECT_EQ(
      over.error().message(),
      "s3://b/in/ has 33554433 objects, which are more than 8388608 for each of 4 lanes: set lanes to 5 or more, or "
      "read a part with include or shard. The lanes of a checkpoint are fixed: a backfill that has begun with 4 "
      "starts over with --reset and an emptied output, or another checkpoint.url");
}

TEST_F(SourceTest, A14_SiblingPrefixesAreWarnedOf) {
  memory->set("data/v1/a", "1\n");
  memory->set("data/v10/b", "2\n");
  BackfillRig rig(memory);
  rig.options.url = "s3://b/data/v1";
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.records.size(), 2U);
  EXPECT_EQ(rig.log->count("also=data/v10/"), 1U) << rig.log->all();
}

TEST_F(SourceTest, AFinishedBackfillHasNothingLeftToDo) {
  fill(10);
  {
    BackfillRig rig(memory);
    ASSERT_TRUE(rig.run());
  }
  const auto before = memory->contents();
  memory->clear_requests();
  BackfillRig again(memory);
  ASSERT_EQ(message_of(again.run()), "succeeded");
  EXPECT_TRUE(again.records.empty());
  EXPECT_EQ(memory->count(StoreOp::read), 0U);
  EXPECT_EQ(memory->contents(), before) << "the manifest stays as it is";
  EXPECT_EQ(again.log->count("nothing was left to do"), 1U);
  EXPECT_EQ(again.source().committed_summary(),
            "nothing was left to do: all 10 objects committed in s3://b/ck/manifest.json");
}

TEST_F(SourceTest, ACommitOutsideTheLaneIsRefusedAndNotWritten) {
  fill(4);
  BackfillRig rig(memory);
  ASSERT_TRUE(rig.open());
  const auto before = memory->contents().at(kManifest);
  const PartitionWatermark beyond{PartitionId(0), Watermark((std::int64_t{7} << 40) + 1)};
  EXPECT_FALSE(rig.source().commit(std::span(&beyond, 1)));
  const PartitionWatermark unknown{PartitionId(9), Watermark(1)};
  EXPECT_FALSE(rig.source().commit(std::span(&unknown, 1)));
  EXPECT_EQ(memory->contents().at(kManifest), before);
}

TEST_F(SourceTest, ProgressAndStatusTellHowFarItIs) {
  fill(8);
  BackfillRig rig(memory);
  ASSERT_TRUE(rig.open());
  ASSERT_TRUE(rig.poll_records(6));
  const SourceProgress progress = rig.source().progress();
  EXPECT_EQ(progress.phase, "reading");
  EXPECT_EQ(progress.objects_total, 8U);
  EXPECT_EQ(progress.objects_done, 2U);
  EXPECT_EQ(progress.bytes_total, 8U * 42U);
  EXPECT_EQ(progress.lanes[0].current, key(4));
  ASSERT_TRUE(rig.commit());
  EXPECT_EQ(rig.source().committed_summary(),
            "2 of 8 objects committed in s3://b/ck/manifest.json; run again to go on from there");
  const std::string json = rig.source().status_json();
  EXPECT_NE(json.find("\"objects_done\":2"), std::string::npos) << json;
}

// Hours of failing saves must not look like commits.
TEST_F(SourceTest, B09_ACommitSaysThatTheManifestIsNotSaved) {
  fill(2);
  BackfillRig run(memory);
  run.options.checkpoint.timeout = std::chrono::milliseconds(100);
  ASSERT_TRUE(run.open());
  ASSERT_TRUE(run.poll_records(SIZE_MAX));
  run.store->add({.op = StoreOp::put,
                  .key = kManifest,
                  .times = Fault::kAlways,
                  .error = Error::retryable(ErrorCode::unavailable, "503 SlowDown")});
  ASSERT_FALSE(run.commit()) << "handed over, and not durable in time";
  const auto again = run.source().commit({});
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().is_retryable());
  EXPECT_EQ(again.error().code(), ErrorCode::unavailable);
  run.store->clear();
  while (!run.source().commit({})) {
  }
  EXPECT_TRUE(run.source().flush_commits());
  EXPECT_EQ(stored().positions.size(), 2U);
}

TEST_F(SourceTest, E05_ClosingDuringTheListingEndsIt) {
  fill(3);
  BackfillRig rig(memory);
  rig.store->add({.op = StoreOp::list, .hang = true});
  std::unique_ptr<BackfillSource> source;
  auto settings = settle(rig.options);
  source = std::make_unique<BackfillSource>(*std::move(settings), StartFlags{},
                                            [&](const StoreUrl&, const StoreOptions&, const StoreContext&) {
                                              return std::shared_ptr<ObjectStore>(rig.store);
                                            });
  ASSERT_TRUE(source->open({}));
  while (rig.store->hanging() == 0) {
  }
  EXPECT_TRUE(std::holds_alternative<Idle>(*source->poll_events(Duration(0))));
  EXPECT_EQ(source->progress().phase, "listing");
  source->close();
  EXPECT_EQ(memory->contents().count(kManifest), 0U);
}

// What a message says of a record: its number in its object, whatever came before it in its lane.
TEST_F(SourceTest, ARecordIsNamedByItsNumberInItsObject) {
  fill(2, 3);
  BackfillRig run(memory);
  run.options.lanes = 1;
  ASSERT_EQ(message_of(run.open()), "succeeded");
  std::vector<std::string> places;
  while (true) {
    auto polled = run.lanes[0]->poll(10, std::chrono::seconds(20));
    ASSERT_TRUE(polled) << polled.error().message();
    if (std::holds_alternative<Exhausted>(*polled)) break;
    const auto* batch = std::get_if<PayloadBatch>(&*polled);
    if (batch == nullptr || batch->payloads.empty()) continue;
    RecordMeta meta;
    meta.origin = batch->origin.get();
    meta.offset = batch->offset(1);
    places.push_back(record_place(meta));
  }
  ASSERT_EQ(places.size(), 2U);
  EXPECT_TRUE(places[0].starts_with("record 2 of b/in/o000.ndjson (")) << places[0];
  EXPECT_TRUE(places[1].starts_with("record 2 of b/in/o001.ndjson (")) << places[1];
}

}  // namespace
}  // namespace millrace::s3_source
