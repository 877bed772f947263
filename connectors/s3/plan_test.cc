// SPDX-License-Identifier: Apache-2.0
// What follows from a listing, worked out by hand for a few objects of known size.
#include "connectors/s3/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "connectors/s3/plan_memory.h"
#include "connectors/s3/plan_text.h"
#include "connectors/s3/rights.h"

namespace millrace::s3_source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kMi = 1024 * kKi;

Listing listing_of(const std::vector<std::pair<std::string, std::uint64_t>>& objects) {
  ListingBuilder builder;
  for (const auto& [key, size] : objects) {
    EXPECT_TRUE(builder.add({.key = key, .size = size, .etag = {"\"e\""}, .last_modified = 0, .storage_class = ""}));
  }
  auto listing = std::move(builder).finish();
  EXPECT_TRUE(listing);
  return *std::move(listing);
}

Settings settings_of(S3SourceOptions options) {
  options.url = "s3://b/in/";
  if (options.checkpoint.url.empty()) options.checkpoint.url = "s3://b/ck/m.json";
  auto settings = settle(std::move(options));
  EXPECT_TRUE(settings) << settings.error().message();
  return *std::move(settings);
}

/// Reads of 1000 bytes.
ReadChunks thousands() { return {2, 10'000, 1000, ReadAdvice{.read_bytes = 1000}}; }

TEST(Plan, CodecsBySettingOrName) {
  const Listing listing =
      listing_of({{"in/a.gz", 10}, {"in/b.ndjson", 5}, {"in/c.gz", 20}, {"in/d.zst", 7}, {"in/e/", 0}, {"in/f", 0}});
  EXPECT_THAT(
      codec_mix(listing, ObjectCodec::auto_detect),
      ElementsAre(CodecShare{Codec::none, 1, 5}, CodecShare{Codec::gzip, 2, 30}, CodecShare{Codec::zstd, 1, 7}));
  EXPECT_THAT(codec_mix(listing, ObjectCodec::gzip), ElementsAre(CodecShare{Codec::gzip, 4, 42}));
  EXPECT_TRUE(codec_mix(listing_of({}), ObjectCodec::auto_detect).empty());
}

TEST(Plan, TheDealIsWeighed) {
  // Lane 0 has a, c, e: 10 + 10 + 500; lane 1 has b, d: 10 + 10.
  const Listing listing = listing_of({{"a", 10}, {"b", 10}, {"c", 10}, {"d", 10}, {"e", 500}});
  const LaneBalance balance = balance_of(listing, 2);
  EXPECT_EQ(balance.least_objects, 2U);
  EXPECT_EQ(balance.most_objects, 3U);
  EXPECT_EQ(balance.least_bytes, 20U);
  EXPECT_EQ(balance.most_bytes, 520U);
  ASSERT_TRUE(balance.heavy);
  EXPECT_EQ(balance.heavy->lane, 0U);
  EXPECT_EQ(balance.heavy->key, "e");
  EXPECT_EQ(balance.heavy->bytes, 500U);
  EXPECT_NEAR(balance.heavy->times_mean, 520.0 / 270.0, 1e-9);

  EXPECT_FALSE(balance_of(listing_of({{"a", 100}, {"b", 149}, {"c", 100}}), 3).heavy) << "1.28 times the mean";
  const LaneBalance none = balance_of(listing_of({}), 4);
  EXPECT_EQ(none.most_bytes, 0U);
  EXPECT_FALSE(none.heavy);
  EXPECT_EQ(balance_of(listing_of({{"a", 1}}), 3).least_objects, 0U);
}

TEST(Plan, EachObjectTakesAReadForEachChunkOfIt) {
  // 1 + 1 + 2 + 0 + 3 reads of 1000 bytes at most.
  const Listing listing = listing_of({{"a", 1}, {"b", 1000}, {"c", 1001}, {"d", 0}, {"e", 2500}});
  const WorkLeft all = work_left(listing, std::vector<Position>(2), thousands());
  EXPECT_EQ(all, (WorkLeft{.objects = 5, .bytes = 4502, .reads = 7, .records_again = 0, .in_progress = 0}));
  // Lane 0 (a, c, e) is behind a and 40 records into c; lane 1 (b, d) is through with b.
  const WorkLeft some = work_left(listing, {{1, 40}, {0, kObjectComplete}}, thousands());
  EXPECT_EQ(some, (WorkLeft{.objects = 3, .bytes = 3501, .reads = 5, .records_again = 40, .in_progress = 1}));
  // Through with everything.
  const WorkLeft none = work_left(listing, {{2, kObjectComplete}, {1, kObjectComplete}}, thousands());
  EXPECT_EQ(none, WorkLeft{});
}

TEST(Plan, INV7_PlainObjectsOfOneReadEachNeedNoRecordPutTogether) {
  const Settings settings = settings_of({.lanes = 2, .prefetch_bytes = {4 * kMi}, .chunk_bytes = {kMi}});
  const ReadChunks chunks(2, 4 * kMi, kMi, {.read_bytes = kMi});
  const Listing listing = listing_of({{"in/a", kMi}, {"in/b", 10}});
  EXPECT_EQ(longest_record(listing, settings), kMi);
  std::map<std::string, std::uint64_t> parts;
  for (const MemoryPart& part : source_memory(listing, settings, chunks, 2, 64)) parts[part.what] = part.bytes;
  EXPECT_EQ(parts.at("listing"), 8 + 200U);
  EXPECT_EQ(parts.at("kept listing"), 2 * (8 + 6 + 48U));
  EXPECT_FALSE(parts.contains("receipt"));
  EXPECT_EQ(parts.at("read ahead"), 8 * kMi);
  EXPECT_EQ(parts.at("reads"), 2 * kKi + 2 * 2 * 16 * kKi) << "two reads, and room in front of two chunks";
  EXPECT_EQ(parts.at("chunks at work"), 2 * (kMi + 16 * kKi + 64));
  EXPECT_EQ(parts.at("windows"), 2 * 512 * kKi);
  EXPECT_EQ(parts.at("connections"), 2 * 640 * kKi) << "no more than there are reads";
  EXPECT_FALSE(parts.contains("decoders"));
  EXPECT_FALSE(parts.contains("long records"));
}

TEST(Plan, INV7_AReceiptIsPutTogetherInMemory) {
  S3SourceOptions options;
  options.receipt.url = "s3://b/r.ndjson";
  const Listing listing = listing_of({{"in/a", kMi}, {"in/b", 10}});
  const Settings settings = settings_of(options);
  const ReadChunks chunks(2, 4 * kMi, kMi, {.read_bytes = kMi});
  const auto parts = source_memory(listing, settings, chunks, 2, 64);
  const auto receipt = std::ranges::find(parts, "receipt", &MemoryPart::what);
  ASSERT_NE(receipt, parts.end());
  EXPECT_EQ(receipt->bytes, 2 * (8 + 6 + 2 * kKi)) << "two lines, as parts and as a whole";
}

TEST(Plan, INV7_EachLaneHasTheLargestDecoderOfItsObjects) {
  // Lane 0: gzip and zstd; lane 1: gzip; lane 2: plain, of several reads.
  const Settings settings = settings_of({.lanes = 3, .max_record_bytes = {kMi}, .zstd_window_log_max = 20});
  const ReadChunks chunks(3, 8 * kMi, 512 * kKi, {.read_bytes = 512 * kKi});
  const Listing listing = listing_of({{"in/a.gz", 10}, {"in/b.gz", 10}, {"in/c", 600 * kKi}, {"in/d.zst", 10}});
  EXPECT_EQ(longest_record(listing, settings), kMi) << "nothing tells how much a compressed object holds";
  std::map<std::string, std::uint64_t> parts;
  for (const MemoryPart& part : source_memory(listing, settings, chunks, 5, 64)) parts[part.what] = part.bytes;
  EXPECT_EQ(parts.at("decoders"), (kMi + kMi) + 128 * kKi);
  EXPECT_EQ(parts.at("long records"), 2 * (kMi + kMi + 600 * kKi));
}

TEST(Plan, RightsAreThoseOfTheTable) {
  const auto text = [](const std::vector<NeededRight>& rights) {
    std::vector<std::string> all;
    for (const NeededRight& right : rights) all.push_back(right.action + " " + right.on);
    return all;
  };
  S3SourceOptions options;
  options.receipt.url = "s3://b/receipts/r.ndjson";
  EXPECT_THAT(text(rights_of(settings_of(options))),
              ElementsAre("s3:ListBucket s3://b, where s3:prefix is in/", "s3:GetObject s3://b/in/*",
                          "s3:GetObject s3://b/ck/m.json", "s3:PutObject s3://b/ck/m.json", "s3:ListBucket s3://b",
                          "s3:PutObject s3://b/ck/m.listing.zst", "s3:GetObject s3://b/ck/m.listing.zst",
                          "s3:PutObject s3://b/ck/m.receipt-*", "s3:GetObject s3://b/ck/m.receipt-*",
                          "s3:DeleteObject s3://b/ck/m.receipt-*", "s3:PutObject s3://b/receipts/r.ndjson",
                          "s3:GetObject s3://b/receipts/r.ndjson"));
  S3SinkOptions sink;
  sink.url = "s3://out/data";
  const auto checked = s3_sink::check(sink);
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_THAT(
      text(s3_sink::rights_of(*checked)),
      ElementsAre("s3:PutObject s3://out/data/*", "s3:GetObject s3://out/data/*",
                  "s3:PutObject s3://out/data/.millrace-probe", "s3:DeleteObject s3://out/data/.millrace-probe"));
  sink.probe = false;
  const auto rights_with = [&](const auto& change) {
    S3SinkOptions changed = sink;
    change(changed);
    const auto options_then = s3_sink::check(changed);
    EXPECT_TRUE(options_then) << options_then.error().message();
    return text(s3_sink::rights_of(*options_then));
  };
  EXPECT_THAT(rights_with([](S3SinkOptions& o) { o.max_file_size = ByteSize{64U << 20U}; }),
              ElementsAre("s3:PutObject s3://out/data/*", "s3:GetObject s3://out/data/*",
                          "s3:AbortMultipartUpload s3://out/data/*", "s3:PutObject s3://out/data/_millrace/*",
                          "s3:GetObject s3://out/data/_millrace/*", "s3:DeleteObject s3://out/data/_millrace/*"));
  EXPECT_THAT(rights_with([](S3SinkOptions& o) { o.cleanup_uploads = true; }),
              ElementsAre("s3:PutObject s3://out/data/*", "s3:GetObject s3://out/data/*",
                          "s3:ListBucketMultipartUploads s3://out", "s3:AbortMultipartUpload s3://out/data/*"));
  EXPECT_THAT(
      rights_with([](S3SinkOptions& o) {
        o.acl = "private";
        o.tags = {{"team", "data"}};
        o.sse = Sse::kms;
        o.sse_kms_key_id = "alias/lake";
      }),
      ElementsAre("s3:PutObject s3://out/data/*", "s3:GetObject s3://out/data/*", "s3:PutObjectAcl s3://out/data/*",
                  "s3:PutObjectTagging s3://out/data/*", "kms:GenerateDataKey alias/lake"));
  sink.url = "file:///out/";
  sink.if_exists = IfExists::fail;
  const auto local = s3_sink::check(sink);
  ASSERT_TRUE(local);
  EXPECT_THAT(text(s3_sink::rights_of(*local)), ElementsAre("write file:///out/*", "read file:///out/*"));
  sink.if_exists = IfExists::overwrite;
  const auto blind = s3_sink::check(sink);
  ASSERT_TRUE(blind);
  EXPECT_THAT(text(s3_sink::rights_of(*blind)), ElementsAre("write file:///out/*"));

  options.receipt.url = "";
  options.checkpoint.url = "file:///tmp/millrace-1-2/manifest.json";
  EXPECT_THAT(
      text(rights_of(settings_of(options), /*keeps_position=*/false)),
      ElementsAre("s3:ListBucket s3://b, where s3:prefix is in/", "s3:GetObject s3://b/in/*", "write file:///tmp/*"));
}

TEST(Plan, EstimatesNeedEveryCodecDecoded) {
  BackfillPlan plan;
  plan.codecs = {{Codec::none, 2, 1000}, {Codec::gzip, 1, 300}};
  EXPECT_FALSE(estimate_of(plan));
  plan.sample.emplace();
  plan.sample->objects = {{.key = "a", .codec = Codec::none, .stored = 100, .decoded = 100, .records = 10},
                          {.key = "b", .codec = Codec::gzip, .stored = 50, .decoded = 200, .records = 20},
                          {.key = "c", .codec = Codec::gzip, .stored = 50, .decoded = 900, .problem = "bad"}};
  const auto estimate = estimate_of(plan);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->decoded, 1000 + 4 * 300U);
  EXPECT_EQ(estimate->records, 220U) << "of ten bytes each";
  EXPECT_FALSE(plan.can_run());
  plan.codecs.push_back({Codec::bz2, 1, 1});
  EXPECT_FALSE(estimate_of(plan)) << "no bz2 object was decoded";
}

TEST(Plan, TextNamesWhatAPersonLooksFor) {
  BackfillPlan plan;
  plan.url = "s3://b/data/v1";
  plan.objects = 1200;
  plan.bytes = 3 * kMi;
  plan.counts = {.listed = 1300, .filtered = 100, .markers = 2, .empty = 1};
  plan.codecs = {{Codec::none, 200, kMi}, {Codec::gzip, 997, 2 * kMi}};
  plan.codecs_by_name = true;
  plan.balance = {.lanes = 4, .least_objects = 300, .most_objects = 300, .least_bytes = kKi, .most_bytes = 2 * kMi};
  plan.balance.heavy = LaneBalance::Heavy{.lane = 2, .times_mean = 2.6, .key = "data/v1/big\t", .bytes = kMi};
  plan.left = {.objects = 7, .bytes = kMi, .reads = 12, .records_again = 34, .in_progress = 1};
  plan.read_bytes = 2 * kMi;
  plan.pages = 2;
  plan.saves_per_minute = 12;
  plan.siblings = "data/v10/, data/v1-old/";
  plan.memory = {{"listing", kMi, "keys"}, {"read ahead", 32 * kMi, "4 lanes x prefetch_bytes (8.0 MiB)"}};
  plan.rights = {{"s3:GetObject", "s3://b/data/v1*", "to read the objects"}};
  plan.resume.kind = ResumePlan::Kind::resume;
  plan.resume.manifest_url = "s3://b/ck.json";
  plan.resume.kept_by = Owner{.host = "worker-1", .pid = 4711};
  plan.resume.owner_timeout = std::chrono::seconds(30);
  const std::string text = plan_text(plan);
  for (const char* part :
       {"s3://b/data/v1\n",
        "  objects    1,200, 1 of them empty, 2 of them folder markers, 100 filtered out; 1,300 keys",
        "  bytes      3.0 MiB stored\n", "  also takes data/v10/, data/v1-old/\n", "gzip   997 objects     2.0 MiB\n",
        "4: 300 objects each, 1.0 KiB to 2.0 MiB\n",
        "lane 2 has 2.6 times the mean; its largest object is 'data/v1/big\\t' with 1.0 MiB\n",
        "12 GET of at most 2.0 MiB, 2 pages of the listing\n", "the manifest is saved 12 times a minute at most",
        "  memory     33.0 MiB at most:\n", "32.0 MiB  read ahead      4 lanes x prefetch_bytes (8.0 MiB)\n",
        "s3:GetObject  s3://b/data/v1*  (to read the objects)\n",
        "  a run      goes on from s3://b/ck.json: 7 objects and 1.0 MiB left\n",
        "1 object in progress: read again, 34 records that are committed are dropped\n",
        "another run keeps the manifest (host worker-1, pid 4711"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("would fail:")));
  EXPECT_TRUE(plan.can_run());
  plan.resume.kind = ResumePlan::Kind::refused;
  plan.resume.refusal = "lanes was 2 and is 4 now";
  EXPECT_THAT(plan_text(plan), HasSubstr("  a run      would fail: lanes was 2 and is 4 now\n"));
  EXPECT_FALSE(plan.can_run());
}

TEST(Plan, JsonIsOneDocument) {
  BackfillPlan plan;
  plan.url = "s3://b/in/";
  plan.objects = 2;
  plan.codecs = {{Codec::gzip, 2, 30}};
  plan.balance = {.lanes = 2, .least_objects = 1, .most_objects = 1, .least_bytes = 10, .most_bytes = 20};
  plan.memory = {{"listing", 5, "keys"}, {"read ahead", 7, "lanes"}};
  plan.resume.kind = ResumePlan::Kind::refused;
  plan.resume.refusal = "no \xff";
  const std::string json = plan_json(plan);
  for (const char* part :
       {R"("can_run":false)", R"("codecs":{"gzip":{"objects":2,"bytes":30}})", R"("bytes":{"least":10,"most":20})",
        R"("memory":{"bytes":12,"parts":[{"what":"listing")", R"("run":{"state":"refused")"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_EQ(json.find('\n'), json.size() - 1);
}

}  // namespace
}  // namespace millrace::s3_source
