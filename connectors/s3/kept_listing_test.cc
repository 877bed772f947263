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
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "millrace/testing/faulty_store.h"
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

/// Every change between what was packed and `now`, or why there is none.
Result<ListingDifference> changes_since(std::string_view packed, const Listing& now) {
  ListingDifference difference;
  MILLRACE_TRY(each_change(packed, now, [&](ObjectChange change) -> Result<void> {
    difference.add(std::move(change));
    return {};
  }));
  return difference;
}

TEST(PackedListing, IsWhatThePageSays) {
  // By hand: the head, then u32 length and key, u32 length and ETag, u64 size, i64 time, little-endian.
  const std::string none("\0\0\0\0\0\0\0\x80", 8);  // a time that is not known
  const std::string expected = "MRLIST2\n" + std::string("\4\0\0\0in/a\3\0\0\0\"1\"\x0A\0\0\0\0\0\0\0", 23) + none +
                               std::string("\4\0\0\0in/b\3\0\0\0\"2\"\x2C\1\0\0\0\0\0\0", 23) + none +
                               std::string("\4\0\0\0in/c\0\0\0\0\0\0\0\0\0\0\0\0", 20) + none;
  EXPECT_EQ(output_of("zstd -q -d -c", pack(listing_of(kThree))), expected);
  ObjectInfo timed{.key = "k", .last_modified = 0x0102030405060708};
  ListingBuilder builder;
  ASSERT_TRUE(builder.add(timed));
  EXPECT_EQ(output_of("zstd -q -d -c", pack(*std::move(builder).finish())),
            "MRLIST2\n" + std::string("\1\0\0\0k\0\0\0\0\0\0\0\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01", 25));
}

TEST(PackedListing, TellsWhatWasAddedRemovedAndChanged) {
  Objects now = kThree;
  now["in/0"] = {"\"n\"", 1};
  now["in/bb"] = {"\"n\"", 1};
  now["in/z"] = {"\"n\"", 1};
  now.erase("in/c");
  now["in/b"] = {"\"3\"", 301};
  const auto changes = changes_since(pack(listing_of(kThree)), listing_of(now));
  ASSERT_TRUE(changes) << changes.error().message();
  EXPECT_EQ(changes->describe(),
            "3 added ('in/0' (1 bytes, ETag \"n\"), 'in/bb' (1 bytes, ETag \"n\"), 'in/z' (1 bytes, ETag \"n\")), "
            "1 removed ('in/c' (0 bytes)), 1 changed ('in/b' (was 300 bytes, ETag \"2\"; is 301 bytes, ETag \"3\"))");
  EXPECT_EQ(changes_since(pack(listing_of(now)), listing_of(now))->describe(), "no object has changed");
  EXPECT_EQ(changes_since(pack(listing_of({})), listing_of(kThree))->added.count, 3U);
  EXPECT_EQ(changes_since(pack(listing_of(kThree)), listing_of({}))->removed.count, 3U);
}

// The times are told, and alone make no change.
TEST(PackedListing, TellsTheTimesOfWhatHasChanged) {
  const auto one = [](std::string etag, UnixMicros time) {
    ListingBuilder builder;
    EXPECT_TRUE(builder.add({.key = "in/a", .size = 7, .etag = {std::move(etag)}, .last_modified = time}));
    return *std::move(builder).finish();
  };
  EXPECT_EQ(changes_since(pack(one("e", 1'000'000)), one("e", 2'000'000))->describe(), "no object has changed");
  EXPECT_EQ(changes_since(pack(one("e", 1'000'000)), one("f", 2'000'000))->describe(),
            "1 changed ('in/a' (was 7 bytes, ETag e, of 1970-01-01T00:00:01Z; is 7 bytes, ETag f, of "
            "1970-01-01T00:00:02Z))");
}

TEST(PackedListing, NamesTheFirstFewOnly) {
  Objects many;
  for (int i = 0; i < 2000; ++i) many[fmt::format("in/{:04}", i)] = {"e", 1};
  const auto changes = changes_since(pack(listing_of({})), listing_of(many));
  EXPECT_EQ(changes->describe(),
            "2000 added ('in/0000' (1 bytes, ETag e), 'in/0001' (1 bytes, ETag e), 'in/0002' (1 bytes, ETag e), ...)");
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
  std::map<std::string, ObjectChange> expected;
  for (const auto& [key, rest] : now) {
    if (!then.contains(key)) expected[key] = {key, std::nullopt, ObjectVersion{rest.first, rest.second}};
  }
  for (const auto& [key, rest] : then) {
    const ObjectVersion was{rest.first, rest.second};
    if (!now.contains(key)) {
      expected[key] = {key, was, std::nullopt};
    } else if (now.at(key) != rest) {
      expected[key] = {key, was, ObjectVersion{now.at(key).first, now.at(key).second}};
    }
  }
  std::vector<ObjectChange> told;
  const auto done = each_change(pack(listing_of(then)), listing_of(now), [&](ObjectChange change) -> Result<void> {
    told.push_back(std::move(change));
    return {};
  });
  RC_ASSERT(done.has_value());
  RC_ASSERT(told.size() == expected.size());
  std::size_t at = 0;
  for (const auto& [key, change] : expected) RC_ASSERT(told[at++] == change);
}

TEST(PackedListing, OtherBytesAreRefused) {
  const Listing now = listing_of(kThree);
  const std::string good = pack(now);
  for (std::size_t size = 1; size < good.size(); ++size) EXPECT_FALSE(changes_since(good.substr(0, size), now)) << size;
  EXPECT_FALSE(changes_since("no zstd", now));
  const auto refusal = [&](const std::string& plain) {
    const auto changes = changes_since(zstd_of("MRLIST2\n" + plain), now);
    return changes ? "accepted" : changes.error().message();
  };
  EXPECT_THAT(refusal("in/a"), HasSubstr("a field of"));  // the letters as a length
  EXPECT_THAT(refusal(std::string("\4\0\0\0in/a\0\0", 10)), HasSubstr("ends inside an object"));
  EXPECT_THAT(refusal(std::string("\1\0\0", 3)), HasSubstr("ends inside an object"));
  const std::string one("\1\0\0\0k\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25);
  EXPECT_THAT(refusal(one + one), HasSubstr("do not rise"));
  // As an earlier build wrote it.
  EXPECT_THAT(changes_since(zstd_of(one), now).error().message(), HasSubstr("does not begin like one"));
}

class KeptListingTest : public ::testing::Test {
 protected:
  std::string why_not(const StoredRecord& record) {
    const auto changes = kept.changes(record, listing_of(kThree));
    return changes ? changes->describe() : changes.error().message();
  }
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  KeptListing kept{store, "ck/job.json", "s3://b/ck/job.json", std::chrono::seconds(10)};
};

TEST_F(KeptListingTest, WhoeverIsToldEndsTheReport) {
  const StoredRecord record = *kept.write(listing_of(kThree));
  const auto done = kept.each_change(record, listing_of({}), [](const ObjectChange&) -> Result<void> {
    return fail(Error::fatal(ErrorCode::closed, "the reader is gone"));
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "the reader is gone");
}

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
  const StoredRecord record = *kept.write(listing_of(kThree));
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

// It says nothing of the listing, which may be there all the same.
TEST_F(KeptListingTest, H01_AStoreThatIsAwaySaysSoItself) {
  const StoredRecord record = *kept.write(listing_of(kThree));
  const auto faulty = std::make_shared<testing::FaultyStore>(store);
  KeptListing over(faulty, "ck/job.json", "s3://b/ck/job.json", std::chrono::seconds(10));
  faulty->add({.op = testing::StoreOp::get, .error = Error::retryable(ErrorCode::unavailable, "503 SlowDown")});
  const auto changes = over.changes(record, listing_of(kThree));
  ASSERT_FALSE(changes);
  EXPECT_TRUE(changes.error().is_retryable());
  EXPECT_EQ(changes.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(changes.error().message(), "the kept listing s3://b/ck/job.listing.zst cannot be read (503 SlowDown)");
  EXPECT_TRUE(over.changes(record, listing_of(kThree)));
}

}  // namespace
}  // namespace millrace::s3_source
