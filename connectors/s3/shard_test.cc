// SPDX-License-Identifier: Apache-2.0
// Goal: several processes on one prefix read every object once between them, and know when they did not see the same
// one. Method: the parts against the whole for random keys and counts (expected shards from xxhash's own function),
// then whole runs over a memory store, and manifests and statuses that were worked out by hand.
#include "connectors/s3/shard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/lister.h"
#include "connectors/s3/source_fixture.h"
#include "connectors/s3/status.h"

namespace millrace::s3_source {
namespace {

using ::testing::HasSubstr;

TEST(Shard, NamesItsManifest) {
  EXPECT_EQ(shard_key("a/backfill.json", {1, 3}), "a/backfill.shard-1-of-3.json");
  EXPECT_EQ(shard_key("backfill", {0, 1}), "backfill.shard-0-of-1");
}

TEST(Shard, EveryKeyGoesWhereItsHashSays) {
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("in/{}", i);
    const std::uint64_t at = XXH3_64bits(key.data(), key.size()) % 7;
    for (std::uint64_t index = 0; index < 7; ++index) EXPECT_EQ((Shard{index, 7}.takes(key)), index == at) << key;
  }
}

TEST(Shard, WhatWasListedIsTheSameInEveryOrder) {
  WholeListing forth;
  WholeListing back;
  const ObjectInfo a{.key = "a", .size = 1, .etag = {"1"}};
  const ObjectInfo b{.key = "b", .size = UINT64_MAX, .etag = {"2"}};
  forth.add(a);
  forth.add(b);
  back.add(b);
  back.add(a);
  EXPECT_EQ(forth, back);
  EXPECT_EQ(forth.objects, 2U);
  EXPECT_EQ(forth.bytes, UINT64_MAX);
  // Each field counts: key, ETag, size.
  for (const ObjectInfo& other :
       {ObjectInfo{.key = "c", .size = 1, .etag = {"1"}}, ObjectInfo{.key = "a", .size = 1, .etag = {"9"}},
        ObjectInfo{.key = "a", .size = 2, .etag = {"1"}}}) {
    WholeListing changed;
    changed.add(other);
    changed.add(b);
    EXPECT_NE(changed.hash, forth.hash);
  }
}

RC_GTEST_PROP(Shard, TheUnionOfAllIsTheListingAndNoKeyIsInTwo, ()) {
  const auto store = std::make_shared<testing::MemoryStore>(testing::MemoryStore::Options{.max_page = 3});
  std::set<std::string> keys;
  for (const int i : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200))) {
    keys.insert(fmt::format("in/{}{}", *rc::gen::element<std::string>("", "a/", "\xFF", "x y"), i));
  }
  for (const std::string& key : keys) store->set(key, key);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 9);
  std::multiset<std::string> found;
  std::optional<WholeListing> whole;
  for (std::uint64_t index = 0; index < count; ++index) {
    StopSignal stop;
    Lister lister(*store, {.url = "s3://b/in/", .prefix = "in/", .shard = Shard{index, count}}, {}, Clock::real(),
                  Random::system(), Logger(), stop);
    const auto part = lister.run();
    RC_ASSERT(part.has_value());
    for (std::size_t i = 0; i < part->size(); ++i) found.emplace((*part)[i].key);
    if (whole) RC_ASSERT(lister.whole() == *whole);
    whole = lister.whole();
    RC_ASSERT(whole->objects == keys.size());
    RC_ASSERT(part->counts().listed == keys.size());
  }
  RC_ASSERT(found == std::multiset<std::string>(keys.begin(), keys.end()));
}

class Shards : public SourceTest {
 protected:
  static std::string manifest_of(std::uint64_t index, std::uint64_t count = 3) {
    return fmt::format("ck/manifest.shard-{}-of-{}.json", index, count);
  }
  std::unique_ptr<BackfillRig> rig_of(std::uint64_t index, std::uint64_t count = 3) {
    auto rig = std::make_unique<BackfillRig>(memory);
    rig->options.lanes = 2;
    rig->options.shard = S3SourceOptions::Shard{index, count};
    return rig;
  }
  Manifest stored_at(const std::string& key) {
    const auto manifest = parse_manifest(memory->contents().at(key));
    EXPECT_TRUE(manifest) << manifest.error().message();
    return manifest.value_or(Manifest());
  }
};

TEST_F(Shards, ReadEveryRecordOnceBetweenThemOnPartitionsOfTheirOwn) {
  fill(40);
  std::map<std::string, std::vector<std::string>> all;
  std::set<std::uint32_t> partitions;
  std::uint64_t listed = 0;
  for (std::uint64_t index = 0; index < 3; ++index) {
    auto rig = rig_of(index);
    ASSERT_EQ(message_of(rig->run()), "succeeded");
    for (auto& [object, lines] : rig->by_object()) EXPECT_TRUE(all.emplace(object, lines).second) << object;
    for (const auto& [partition, watermark] : rig->committed) {
      EXPECT_TRUE(partition == index * 2 || partition == index * 2 + 1) << partition;
      EXPECT_TRUE(partitions.insert(partition).second);
    }
    const Manifest manifest = stored_at(manifest_of(index));
    EXPECT_TRUE(manifest.complete);
    EXPECT_EQ(manifest.identity.shard, (Shard{index, 3}));
    ASSERT_TRUE(manifest.whole);
    EXPECT_EQ(manifest.whole->objects, 40U);
    EXPECT_EQ(manifest.whole, stored_at(manifest_of(0)).whole);
    listed += manifest.listing.objects;
    EXPECT_TRUE(memory->contents().contains(fmt::format("ck/manifest.shard-{}-of-3.listing.zst", index)));
  }
  EXPECT_EQ(listed, 40U);
  ASSERT_EQ(all.size(), 40U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(all.at(key(i)), lines_of(i));
  EXPECT_FALSE(memory->contents().contains(kManifest));
}

TEST_F(Shards, ResumeFromTheirOwnManifest) {
  fill(40);
  auto first = rig_of(1);
  ASSERT_TRUE(first->open());
  ASSERT_TRUE(first->poll_records(10));
  ASSERT_TRUE(first->commit());
  const auto read = first->by_object();
  first->close();
  auto second = rig_of(1);
  ASSERT_EQ(message_of(second->run()), "succeeded");
  EXPECT_EQ(read.size() + second->by_object().size(), stored_at(manifest_of(1)).listing.objects);
  EXPECT_TRUE(stored_at(manifest_of(1)).complete);
}

TEST_F(Shards, F09_AnotherShardsManifestIsRefused) {
  fill(10);
  ASSERT_TRUE(rig_of(1)->run());
  memory->set(manifest_of(0), memory->contents().at(manifest_of(1)));
  const auto run = rig_of(0)->run();
  ASSERT_FALSE(run);
  EXPECT_THAT(message_of(run), HasSubstr("shard was 1 of 3 and is 0 of 3 now"));
  memory->set(kManifest, memory->contents().at(manifest_of(1)));
  BackfillRig whole(memory);
  whole.options.lanes = 2;
  EXPECT_THAT(message_of(whole.run()), HasSubstr("shard was 1 of 3 and is none now"));
}

// All shards of one source name their records alike; {partition} keeps their keys apart.
TEST_F(Shards, ShareTheNameOfTheSource) {
  const auto name = [](std::optional<S3SourceOptions::Shard> shard) {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck/manifest.json";
    options.shard = shard;
    return settle(options)->name;
  };
  EXPECT_EQ(name(S3SourceOptions::Shard{0, 3}), name(S3SourceOptions::Shard{2, 3}));
  EXPECT_EQ(name(S3SourceOptions::Shard{0, 3}), name(std::nullopt));
}

TEST_F(Shards, AnEmptyPartIsNoEmptyPrefix) {
  fill(1);
  int without = 0;
  for (std::uint64_t index = 0; index < 3; ++index) {
    auto rig = rig_of(index);
    rig->options.on_empty = OnEmpty::fail;
    ASSERT_EQ(message_of(rig->run()), "succeeded");
    without += rig->log->count("none of the objects falls to this shard") == 1 ? 1 : 0;
    EXPECT_EQ(rig->log->count("warn no object to read"), 0U);
    EXPECT_TRUE(stored_at(manifest_of(index)).complete);
  }
  EXPECT_EQ(without, 2);
  memory->erase(key(0));
  auto rig = rig_of(0, 2);
  rig->options.on_empty = OnEmpty::fail;
  EXPECT_THAT(message_of(rig->run()), HasSubstr("no object to read under s3://b/in/"));
}

// Another shard's objects are no drift of this one, but for frozen: strict, which allows no change at all.
TEST_F(Shards, WhatChangesInAnotherShardIsPinnedAndToldButNoDrift) {
  fill(20);
  ASSERT_TRUE(rig_of(0)->run());
  const WholeListing before = *stored_at(manifest_of(0)).whole;
  std::string elsewhere;
  for (int i = 100; elsewhere.empty(); ++i) {
    if (!(Shard{0, 3}.takes(key(i)))) elsewhere = key(i);
  }
  memory->set(elsewhere, "{}\n");
  auto strict = rig_of(0);
  strict->options.frozen = Frozen::strict;
  const auto refused = strict->run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::drift);
  EXPECT_THAT(message_of(refused), HasSubstr("all shards together had 20 objects"));
  auto again = rig_of(0);
  ASSERT_EQ(message_of(again->run()), "succeeded");
  EXPECT_TRUE(again->records.empty());
  const WholeListing after = *stored_at(manifest_of(0)).whole;
  EXPECT_EQ(after.objects, 21U);
  EXPECT_NE(after.hash, before.hash);
}

/// Two of three shards, six objects in all.
std::vector<ShardStatus> two_of_three() {
  Manifest m;
  m.updated = 1'000'000'000;
  m.identity.url = "s3://b/in/";
  m.identity.shard = Shard{0, 3};
  m.lanes = 1;
  m.listing = {2, 20, 0};
  m.whole = WholeListing{6, 60, 0xab};
  m.complete = true;
  m.owner.released = true;
  m.positions = {{0, Watermark((std::int64_t{2} << 40) - 1), "in/b", "\"e\"", 1}};
  Manifest other = m;
  other.identity.shard = Shard{2, 3};
  other.listing = {3, 30, 0};
  other.complete = false;
  return {{"s3://b/ck.shard-0-of-3.json", m},
          {"s3://b/ck.shard-1-of-3.json", std::nullopt},
          {"s3://b/ck.shard-2-of-3.json", other}};
}

TEST(ShardsStatus, TellsAllTogether) {
  auto shards = two_of_three();
  EXPECT_EQ(shards_text(shards, 1'030'000'000),
            "s3://b/in/ in 3 shards\n"
            "  objects   4 of 6 committed, 2 left\n"
            "  shard 0    complete, 2 of 2 objects, saved 30s ago in s3://b/ck.shard-0-of-3.json\n"
            "  shard 1    nothing was run yet, no manifest at s3://b/ck.shard-1-of-3.json\n"
            "  shard 2    stopped, 2 of 3 objects, saved 30s ago in s3://b/ck.shard-2-of-3.json\n");
  shards[2].manifest->whole = WholeListing{7, 70, 0xcd};
  shards[2].manifest->updated += 1;
  const std::string text = shards_text(shards, 1'030'000'000);
  EXPECT_THAT(text, HasSubstr("4 of 7 committed, 3 left"));
  EXPECT_THAT(text,
              HasSubstr("  warning   the shards saw different listings: 6 objects (hash 00000000000000ab) by shard "
                        "0; 7 objects (hash 00000000000000cd) by shard 2."));
}

TEST(ShardsStatus, IsOneDocument) {
  auto shards = two_of_three();
  std::string json = shards_json(shards, 1'030'000'000);
  EXPECT_THAT(json, ::testing::StartsWith(R"({"url":"s3://b/in/","shards":3,"complete":false,"objects":6,)"
                                          R"("objects_done":4,"same_listing":true,"shard":[{"url":)"));
  EXPECT_THAT(json, HasSubstr(R"(,null,{"url":)"));
  EXPECT_EQ(json.find('\n'), std::string::npos);
  shards[2].manifest->whole->hash = 1;
  EXPECT_THAT(shards_json(shards, 0), HasSubstr(R"("same_listing":false)"));
}

}  // namespace
}  // namespace millrace::s3_source
