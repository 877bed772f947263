// SPDX-License-Identifier: Apache-2.0
// The listing beside the manifest: its bytes against the page (unpacked by the zstd program), what it tells of changes,
// and every way in which it can be of no use.
#include "connectors/s3/kept_listing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "connectors/s3/compressed_by.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using ::testing::HasSubstr;

/// Key to ETag and size.
using Objects = std::map<std::string, std::pair<std::string, std::uint64_t>>;

Listing listing_of(const Objects& objects) {
  ListingBuilder builder;
  for (const auto& [key, rest] : objects) {
    ObjectInfo info;
    info.key = key;
    info.etag.value = rest.first;
    info.size = rest.second;
    EXPECT_TRUE(builder.add(info));
  }
  return *std::move(builder).finish();
}

const Objects kThree{{"in/a", {"\"1\"", 10}}, {"in/b", {"\"2\"", 300}}, {"in/c", {"", 0}}};

TEST(PackedListing, IsWhatThePageSays) {
  // By hand: u32 length and key, u32 length and ETag, u64 size, little-endian.
  const std::string expected = std::string("\4\0\0\0in/a\3\0\0\0\"1\"\x0A\0\0\0\0\0\0\0", 23) +
                               std::string("\4\0\0\0in/b\3\0\0\0\"2\"\x2C\1\0\0\0\0\0\0", 23) +
                               std::string("\4\0\0\0in/c\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  EXPECT_EQ(output_of("zstd -q -d -c", pack(listing_of(kThree))), expected);
}

TEST(PackedListing, TellsWhatWasAddedRemovedAndOverwritten) {
  Objects now = kThree;
  now["in/0"] = {"\"n\"", 1};
  now["in/bb"] = {"\"n\"", 1};
  now["in/z"] = {"\"n\"", 1};
  now.erase("in/c");
  now["in/b"].second = 301;
  const auto changes = changes_since(pack(listing_of(kThree)), listing_of(now));
  ASSERT_TRUE(changes) << changes.error().message();
  EXPECT_EQ(changes->describe(), "3 added ('in/0', 'in/bb', 'in/z'), 1 removed ('in/c'), 1 overwritten ('in/b')");
  EXPECT_EQ(changes_since(pack(listing_of(now)), listing_of(now))->describe(), "no object has changed");
  EXPECT_EQ(changes_since(pack(listing_of({})), listing_of(kThree))->added.count, 3U);
  EXPECT_EQ(changes_since(pack(listing_of(kThree)), listing_of({}))->removed.count, 3U);
}

TEST(PackedListing, NamesTheFirstFewOnly) {
  Objects many;
  for (int i = 0; i < 2000; ++i) many[fmt::format("in/{:04}", i)] = {fmt::format("\"{:032x}\"", i * 7919), 1};
  const auto changes = changes_since(pack(listing_of({})), listing_of(many));
  EXPECT_EQ(changes->describe(), "2000 added ('in/0000', 'in/0001', 'in/0002', 'in/0003', 'in/0004', ...)");
}

RC_GTEST_PROP(PackedListing, DifferencesAreThoseOfTheMaps, ()) {
  const auto objects = [] {
    Objects all;
    // Few keys, so that many meet; long ones, so that blocks end inside them.
    for (const int i : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60))) {
      all[fmt::format("k{}{}", std::string(static_cast<std::size_t>(i) * 97, 'x'), i)] = {
          fmt::format("\"{}\"", *rc::gen::inRange(0, 3)), *rc::gen::inRange<std::uint64_t>(0, 3)};
    }
    return all;
  };
  const Objects then = objects();
  const Objects now = objects();
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::uint64_t overwritten = 0;
  for (const auto& [key, rest] : now) added += then.contains(key) ? 0 : 1;
  for (const auto& [key, rest] : then) {
    removed += now.contains(key) ? 0 : 1;
    overwritten += now.contains(key) && now.at(key) != rest ? 1 : 0;
  }
  const auto changes = changes_since(pack(listing_of(then)), listing_of(now));
  RC_ASSERT(changes.has_value());
  RC_ASSERT(changes->added.count == added);
  RC_ASSERT(changes->removed.count == removed);
  RC_ASSERT(changes->overwritten.count == overwritten);
}

TEST(PackedListing, OtherBytesAreRefused) {
  const Listing now = listing_of(kThree);
  const std::string good = pack(now);
  for (std::size_t size = 1; size < good.size(); ++size) EXPECT_FALSE(changes_since(good.substr(0, size), now)) << size;
  EXPECT_FALSE(changes_since("no zstd", now));
  const auto refusal = [&](const std::string& plain) {
    const auto changes = changes_since(zstd_of(plain), now);
    return changes ? "accepted" : changes.error().message();
  };
  EXPECT_THAT(refusal("in/a"), HasSubstr("a field of"));  // the letters as a length
  EXPECT_THAT(refusal(std::string("\4\0\0\0in/a\0\0", 10)), HasSubstr("ends inside an object"));
  EXPECT_THAT(refusal(std::string("\1\0\0", 3)), HasSubstr("ends inside an object"));
  const std::string one("\1\0\0\0k\0\0\0\0\0\0\0\0\0\0\0\0", 17);
  EXPECT_THAT(refusal(one + one), HasSubstr("do not rise"));
}

class KeptListingTest : public ::testing::Test {
 protected:
  std::string why_not(const ListingRecord& record) {
    const auto changes = kept.changes(record, listing_of(kThree));
    return changes ? changes->describe() : changes.error().message();
  }
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  KeptListing kept{store, "ck/job.json", "s3://b/ck/job.json", std::chrono::seconds(10)};
};

TEST_F(KeptListingTest, StandsBesideTheManifest) {
  EXPECT_EQ(listing_key("a/backfill.json"), "a/backfill.listing.zst");
  EXPECT_EQ(listing_key("backfill"), "backfill.listing.zst");
  const auto record = kept.write(listing_of(kThree));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->name, "job.listing.zst");
  EXPECT_EQ(record->bytes, store->contents().at("ck/job.listing.zst").size());
  EXPECT_EQ(why_not(*record), "no object has changed");
}

// Whatever has become of it, what is said names it and what is the matter; it never passes for another listing.
TEST_F(KeptListingTest, MissingDamagedOrForeignIsSaid) {
  const ListingRecord record = *kept.write(listing_of(kThree));
  const std::string good = store->contents().at("ck/job.listing.zst");
  const std::string named = "the kept listing s3://b/ck/job.listing.zst ";
  std::string bad = good;
  bad[good.size() / 2] ^= 1;
  store->set("ck/job.listing.zst", bad);
  EXPECT_THAT(why_not(record), HasSubstr(named + "is damaged or not this backfill's"));
  store->set("ck/job.listing.zst", good.substr(0, good.size() - 1));
  EXPECT_THAT(why_not(record), HasSubstr(named + "is damaged or not this backfill's"));
  store->set("ck/job.listing.zst", good + std::string(100, '\0'));
  EXPECT_THAT(why_not(record), HasSubstr(named + "has more than"));
  store->set("ck/job.listing.zst", pack(listing_of({{"in/x", {"\"1\"", 10}}})));
  EXPECT_THAT(why_not(record), HasSubstr("not this backfill's"));
  store->erase("ck/job.listing.zst");
  EXPECT_THAT(why_not(record), HasSubstr(named + "is gone, so which objects changed cannot be told"));
}

}  // namespace
}  // namespace millrace::s3_source
