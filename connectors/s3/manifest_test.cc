// SPDX-License-Identifier: Apache-2.0
// The manifest's text form against its page: docs/formats/manifest.md's own example is parsed, each kind of damage
// (F10) is named, and random manifests survive writing and reading.
#include "connectors/s3/manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace millrace::s3_source {
namespace {

std::string example() {
  std::ifstream page(MILLRACE_SOURCE_DIR "/docs/formats/manifest.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const std::string fence = "```json\n";
  const std::size_t begin = text.find(fence) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string problem_of(const std::string& json) {
  const auto manifest = parse_manifest(json);
  if (manifest) return "accepted";
  EXPECT_EQ(manifest.error().code(), ErrorCode::manifest);
  EXPECT_TRUE(manifest.error().is_fatal());
  return manifest.error().message();
}

TEST(Manifest, ThePagesExampleIsRead) {
  const auto manifest = parse_manifest(example());
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->generation, 7U);
  EXPECT_EQ(manifest->identity.url, "s3://my-bucket/exports/2026-07/");
  EXPECT_EQ(manifest->lanes, 4U);
  EXPECT_EQ(manifest->listing.objects, 6U);
  EXPECT_EQ(manifest->listing.hash, 0x5f1d0c2a9b3e4d77U);
  ASSERT_EQ(manifest->positions.size(), 2U);
  EXPECT_EQ(manifest->position(0)->position(), (Position{1, 38632}));
  EXPECT_EQ(manifest->position(0)->etag, "\"9b2cf535f27731c974343645a3985328\"");
  EXPECT_TRUE(manifest->position(1)->position().object_complete());
  EXPECT_EQ(manifest->position(2), nullptr);
  EXPECT_EQ(manifest->owner.pid, 4711U);
  EXPECT_FALSE(manifest->owner.released);
}

TEST(Manifest, IsWrittenAsThePageShowsIt) {
  // The page puts short objects on one line; beside white space nothing may differ.
  const auto squeeze = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c != ' ' && c != '\n') out += c;
    }
    return out;
  };
  EXPECT_EQ(squeeze(to_json(*parse_manifest(example()))), squeeze(example()));
}

TEST(Manifest, F10_EachDamageIsRefusedByName) {
  const std::string good = example();
  EXPECT_EQ(problem_of(""), "it is empty (0 bytes)");
  EXPECT_NE(problem_of(good.substr(0, good.size() / 2)).find("not valid JSON"), std::string::npos);
  EXPECT_EQ(problem_of("{}"), "field 'schema' is missing");
  EXPECT_NE(problem_of("\xEF\xBB\xBF" + good).find("byte order mark"), std::string::npos);
  EXPECT_NE(problem_of(good + "x").find("not valid JSON"), std::string::npos);
  EXPECT_NE(problem_of("[]").find("is an array, not an object"), std::string::npos);
  EXPECT_NE(problem_of(std::string(1000, 'j')).find("not valid JSON"), std::string::npos);
  EXPECT_NE(problem_of(std::string(1000, '[')).find("nested too deep"), std::string::npos);
  EXPECT_NE(problem_of(replaced(good, "\"schema\": 1", "\"schema\": 2")).find("a newer one wrote it"),
            std::string::npos);
  EXPECT_NE(problem_of(replaced(good, "\"schema\": 1", "\"schema\": 0")).find("'schema' is 0"), std::string::npos);
}

TEST(Manifest, F10_WrongTypesNameTheFieldAndTheValue) {
  const std::string good = example();
  EXPECT_EQ(problem_of(replaced(good, "\"watermark\": 1099511627775", "\"watermark\": \"1099511627775\"")),
            "field 'positions[1].watermark' is a string (\"1099511627775\"), not an integer from 0");
  EXPECT_EQ(problem_of(replaced(good, "\"lanes\": 4", "\"lanes\": -4")),
            "field 'lanes' is a number (-4), not an integer from 0");
  EXPECT_EQ(problem_of(replaced(good, "\"lanes\": 4", "\"lanes\": 4.0")),
            "field 'lanes' is a number (4.0), not an integer from 0");
  EXPECT_EQ(problem_of(replaced(good, "\"lanes\": 4", "\"lanes\": 5000")),
            "field 'lanes' is 5000; at most 4096 has a meaning");
  EXPECT_EQ(problem_of(replaced(good, "\"complete\": false", "\"complete\": 0")),
            "field 'complete' is a number (0), not true or false");
  EXPECT_EQ(problem_of(replaced(good, "\"include\": []", "\"include\": [1]")),
            "field 'source.include[0]' is a number (1), not a string");
  EXPECT_EQ(problem_of(replaced(good, "\"5f1d0c2a9b3e4d77\"", "\"5F1D0C2A9B3E4D77\"")),
            "field 'listing.hash' is '5F1D0C2A9B3E4D77', not 16 lower-case hex digits");
  EXPECT_EQ(problem_of(replaced(good, "\"2026-07-01T12:00:35.000000Z\"", "\"yesterday\"")),
            "field 'updated' is 'yesterday', not a time like 2026-07-01T12:00:00.000000Z");
  EXPECT_EQ(problem_of(replaced(good, "\"watermark\": 1099511627775", "\"watermark\": 9223372036854775808")),
            "field 'positions[1].watermark' is 9223372036854775808; at most 9223372036854775807 has a meaning");
}

TEST(Manifest, F10_FieldsThatContradictEachOther) {
  const std::string good = example();
  EXPECT_EQ(problem_of(replaced(good, "\"ordinal\": 1", "\"ordinal\": 2")),
            "field 'positions[0].ordinal' is 2, but the watermark 1099511666408 lies in object 1");
  EXPECT_EQ(problem_of(replaced(good, "\"lane\": 1", "\"lane\": 0")),
            "field 'positions[1].lane' is 0 behind lane 0; lanes rise and come once");
  EXPECT_EQ(problem_of(replaced(good, "\"lane\": 1", "\"lane\": 4")),
            "field 'positions[1].lane' is 4; at most 3 has a meaning");
}

TEST(Manifest, TheKeptListingStandsBesideIt) {
  const std::string good = example();
  EXPECT_EQ(parse_manifest(good)->kept_listing.name, "exports-backfill.listing.zst");
  EXPECT_EQ(problem_of(replaced(good, "\"exports-backfill.listing.zst\"", "\"../x\"")),
            "field 'kept_listing.name' is '../x'; it stands beside the manifest, so no slash has a meaning");
  EXPECT_EQ(problem_of(replaced(good, "\"kept_listing\"", "\"listing_kept\"")), "field 'kept_listing' is missing");
}

TEST(Manifest, F10_WhatIsSetAsideLiesBehindThePositionsOnceEach) {
  const auto with = [](const std::string& objects) {
    return replaced(example(), "\"owner\"", "\"quarantined\": [" + objects + "], \"owner\"");
  };
  const auto object = [](int lane, int ordinal) {
    return "{\"lane\":" + std::to_string(lane) + ",\"ordinal\":" + std::to_string(ordinal) +
           ",\"key\":\"k\",\"etag\":\"e\",\"size\":9,\"records\":3,\"records_hash\":\"00000000000000ff\",\"byte\":7,"
           "\"code\":\"truncated\",\"reason\":\"it is cut\"}";
  };
  const auto manifest = parse_manifest(with(object(0, 0) + "," + object(1, 0)));
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->quarantined.size(), 2U);
  const QuarantinedObject* found = find(manifest->quarantined, 1, 0);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, (QuarantinedObject{1, 0, "k", "e", 9, 3, 255, 7, "truncated", "it is cut", std::nullopt}));
  EXPECT_EQ(find(manifest->quarantined, 1, 1), nullptr);
  // Lane 0 is inside its object 1, lane 2 has no position.
  EXPECT_NE(problem_of(with(object(0, 1))).find("which the position of lane 0 has not passed"), std::string::npos);
  EXPECT_NE(problem_of(with(object(2, 0))).find("which the position of lane 2 has not passed"), std::string::npos);
  EXPECT_NE(problem_of(with(object(1, 0) + "," + object(0, 0))).find("they rise and come once"), std::string::npos);
  EXPECT_NE(problem_of(with(object(1, 0) + "," + object(1, 0))).find("they rise and come once"), std::string::npos);
  EXPECT_NE(problem_of(with("")).find("field 'quarantined' has 0 objects"), std::string::npos);
  EXPECT_EQ(problem_of(replaced(with(object(0, 0)), "it is cut", std::string(513, 'x'))),
            "field 'quarantined[0].reason' has 513 bytes; it has 512 at most");
  EXPECT_EQ(problem_of(replaced(with(object(0, 0)), "it is cut", std::string(512, 'x'))), "accepted");
  const auto retried = [&](int records) {
    const std::string retry = "\"retry\":{\"etag\":\"e\",\"records\":" + std::to_string(records) + "},\"reason\"";
    return replaced(with(object(0, 0)), "\"reason\"", retry);
  };
  EXPECT_EQ(problem_of(retried(3)), "accepted");
  EXPECT_EQ(problem_of(retried(2)),
            "field 'quarantined[0].retry.records' is 2, but 3 records were written before the retry");
}

TEST(Manifest, F10_AShardAndWhatItSawOfAllComeTogether) {
  const std::string good = example();
  const std::string before = "\"start_after\": \"\"";
  const std::string shard = replaced(good, before, before + ", \"shard\": {\"index\": 1, \"count\": 3}");
  EXPECT_EQ(problem_of(shard), "field 'whole_listing' is missing although there is a shard");
  const std::string whole = "\"whole_listing\": {\"objects\": 18, \"bytes\": 5, \"hash\": \"00000000000000ab\"}, ";
  EXPECT_EQ(problem_of(replaced(good, "\"kept_listing\"", whole + "\"kept_listing\"")),
            "field 'whole_listing' stands there without a shard");
  const std::string both = replaced(shard, "\"kept_listing\"", whole + "\"kept_listing\"");
  const auto manifest = parse_manifest(both);
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->identity.shard, (Shard{1, 3}));
  EXPECT_EQ(manifest->whole, (WholeListing{18, 5, 0xab}));
  EXPECT_EQ(problem_of(replaced(both, "\"index\": 1", "\"index\": 3")),
            "field 'source.shard.index' is 3, but there are 3 shards");
  EXPECT_EQ(problem_of(replaced(both, "\"count\": 3", "\"count\": 65537")),
            "field 'source.shard.count' is 65537; at most 65536 has a meaning");
}

TEST(Manifest, F10_UnknownMissingAndRepeatedFields) {
  const std::string good = example();
  EXPECT_EQ(problem_of(replaced(good, "\"complete\"", "\"completed\"")), "field 'complete' is missing");
  EXPECT_EQ(problem_of(replaced(good, "\"lanes\": 4", "\"lanes\": 4, \"laness\": 4")),
            "field 'laness' is unknown to schema 1");
  EXPECT_EQ(problem_of(replaced(good, "\"pid\": 4711", "\"pid\": 4711, \"uid\": 0")),
            "field 'owner.uid' is unknown to schema 1");
  EXPECT_EQ(problem_of(replaced(good, "\"lanes\": 4", "\"lanes\": 3, \"lanes\": 4")),
            "field 'lanes' stands there twice in one object");
}

TEST(Manifest, KeysThatAreNotUtf8AreKeptAsBase64) {
  Manifest manifest = *parse_manifest(example());
  manifest.positions[0].key = "exports/2026-07/\xFFraw";
  const std::string json = to_json(manifest);
  EXPECT_NE(json.find("\"base64\": \"ZXhwb3J0cy8yMDI2LTA3L/9yYXc=\""), std::string::npos) << json;
  EXPECT_EQ(parse_manifest(json)->positions[0].key, manifest.positions[0].key);
}

TEST(Manifest, A11_NormalFormsOfOneNameStayApart) {
  Manifest manifest = *parse_manifest(example());
  manifest.positions[0].key = "in/\xC3\xA9.ndjson";
  manifest.positions[1].key = "in/e\xCC\x81.ndjson";
  const Manifest back = *parse_manifest(to_json(manifest));
  EXPECT_EQ(back.positions[0].key, "in/\xC3\xA9.ndjson");
  EXPECT_EQ(back.positions[1].key, "in/e\xCC\x81.ndjson");
}

TEST(Manifest, TimesAreReadExactlyAsTheyAreWritten) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.000000Z"), 0);
  EXPECT_EQ(parse_time("2026-07-01T12:00:00.000001Z"), 1782907200000001);  // date -u -d 2026-07-01T12:00:00Z +%s
  for (const char* text : {"", "2026-07-01T12:00:00Z", "2026-02-30T00:00:00.000000Z", "2026-07-01T24:00:00.000000Z",
                           "2026-07-01T12:00:00.000000+", "2026-07-01 12:00:00.000000Z"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

rc::Gen<std::uint64_t> count_up_to(std::uint64_t most) {
  return rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, std::min<std::uint64_t>(most, 1000) + 1),
                        rc::gen::inRange<std::uint64_t>(0, most), rc::gen::just(most));
}
rc::Gen<UnixMicros> any_time() { return rc::gen::inRange<UnixMicros>(0, 253402300799999999); }  // the year 9999

QuarantinedObject any_quarantined(std::uint64_t lane, std::uint64_t ordinal) {
  QuarantinedObject object{.lane = lane,
                           .ordinal = ordinal,
                           .key = *rc::gen::arbitrary<std::string>(),
                           .etag = *rc::gen::arbitrary<std::string>(),
                           .size = *count_up_to(UINT64_MAX),
                           .records = *count_up_to(kMaxRecordsPerObject),
                           .records_hash = *rc::gen::arbitrary<std::uint64_t>(),
                           .byte = *count_up_to(UINT64_MAX),
                           .code = "truncated",
                           .reason = (*rc::gen::arbitrary<std::string>()).substr(0, kReasonLimit),
                           .retry = std::nullopt};
  if (*rc::gen::arbitrary<bool>()) {
    object.retry =
        RetryProgress{*rc::gen::arbitrary<std::string>(), std::max(object.records, *count_up_to(kMaxRecordsPerObject))};
  }
  return object;
}

Manifest any_manifest() {
  Manifest m;
  m.generation = *count_up_to(INT64_MAX);
  m.updated = *any_time();
  m.complete = *rc::gen::arbitrary<bool>();
  m.identity = {*rc::gen::arbitrary<std::string>(),
                "ndjson",
                "auto",
                *rc::gen::arbitrary<std::vector<std::string>>(),
                *rc::gen::arbitrary<std::vector<std::string>>(),
                *rc::gen::arbitrary<std::string>(),
                {*rc::gen::element<std::string>("", "1024"), "",
                 *rc::gen::element<std::string>("", "2026-07-01T00:00:00.000000Z"), ""}};
  if (*rc::gen::arbitrary<bool>()) {
    const auto shards = *rc::gen::inRange<std::uint64_t>(1, kMaxShards + 1);
    m.identity.shard = Shard{*rc::gen::inRange<std::uint64_t>(0, shards), shards};
    m.whole = WholeListing{*count_up_to(INT64_MAX), *count_up_to(UINT64_MAX), *rc::gen::arbitrary<std::uint64_t>()};
  }
  m.lanes = *rc::gen::inRange<std::uint64_t>(1, 9);
  m.listing = {*count_up_to(INT64_MAX), *count_up_to(UINT64_MAX), *rc::gen::arbitrary<std::uint64_t>()};
  m.kept_listing = {"m.listing.zst", *count_up_to(INT64_MAX), *rc::gen::arbitrary<std::uint64_t>()};
  for (std::uint64_t lane = 0; lane < m.lanes; ++lane) {
    if (*rc::gen::arbitrary<bool>()) continue;
    m.positions.push_back({lane, Watermark(static_cast<std::int64_t>(*count_up_to(INT64_MAX))),
                           *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                           *rc::gen::arbitrary<std::uint64_t>()});
  }
  for (const LanePosition& at : m.positions) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(at.position().ordinal, 3); ++i) {
      if (*rc::gen::arbitrary<bool>()) m.quarantined.push_back(any_quarantined(at.lane, i));
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    m.receipt =
        ReceiptState{*rc::gen::arbitrary<std::string>(),
                     {"m.receipt-000001.ndjson.zst", *count_up_to(INT64_MAX), *rc::gen::arbitrary<std::uint64_t>()},
                     *rc::gen::arbitrary<bool>()};
  }
  m.owner = {"0123", "host", *count_up_to(INT64_MAX), "a/b/c", *any_time(), *any_time(), *rc::gen::arbitrary<bool>()};
  return m;
}

RC_GTEST_PROP(Manifest, ReadingInvertsWriting, ()) {
  const Manifest manifest = any_manifest();
  const auto back = parse_manifest(to_json(manifest));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == manifest);
}

RC_GTEST_PROP(Manifest, F10_AnyCutAndAnyFlippedBitIsAcceptedWholeOrRefused, ()) {
  const std::string good = example();
  RC_ASSERT(!parse_manifest(good.substr(0, *rc::gen::inRange<std::size_t>(0, good.rfind('}')))));
  std::string flipped = good;
  flipped[*rc::gen::inRange<std::size_t>(0, good.size())] ^= static_cast<char>(1 << *rc::gen::inRange(0, 8));
  const auto manifest = parse_manifest(flipped);
  if (manifest) RC_ASSERT((parse_manifest(to_json(*manifest)) == *manifest));
}

}  // namespace
}  // namespace millrace::s3_source
