// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/as_quarantined.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::s3_source {
namespace {

using Infos = std::vector<ObjectInfo>;

ObjectInfo info(const std::string& key, const std::string& etag, std::uint64_t size) {
  return {.key = key, .size = size, .etag = {etag}, .last_modified = 7};
}
Listing listing_of(const Infos& infos) {
  ListingBuilder builder;
  for (const ObjectInfo& one : infos) EXPECT_TRUE(builder.add(one));
  return *std::move(builder).finish();
}
WholeListing whole_of(const Infos& infos) {
  WholeListing whole;
  for (const ObjectInfo& one : infos) whole.add(one);
  return whole;
}

// b was mended, a and d are gone: what is seen is what was listed when they were set aside.
TEST(AsQuarantined, WhatIsThereNowDoesNotMatter) {
  const Infos then{info("a", "1", 10), info("b", "2", 20), info("c", "3", 30), info("d", "4", 40)};
  const Infos now{info("b", "9", 99), info("c", "3", 30)};
  // By lane and ordinal, not by key.
  const Quarantine aside{{.lane = 0, .ordinal = 0, .key = "d", .etag = "4", .size = 40},
                         {.lane = 0, .ordinal = 1, .key = "b", .etag = "2", .size = 20},
                         {.lane = 1, .ordinal = 0, .key = "a", .etag = "1", .size = 10}};
  const auto seen = as_quarantined(listing_of(now), aside);
  ASSERT_TRUE(seen);
  const Listing expected = listing_of(then);
  EXPECT_EQ(seen->hash(), expected.hash());
  EXPECT_EQ(seen->bytes(), 100U);
  ASSERT_EQ(seen->size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*seen)[i].key, then[i].key);
  EXPECT_EQ((*seen)[1].last_modified, 7) << "of what stands there";
  EXPECT_EQ((*seen)[0].last_modified, kNoTimestamp);

  // Of two shards, the other of which has x.
  Infos all_now = now;
  Infos all_then = then;
  all_now.push_back(info("x", "5", 50));
  all_then.push_back(info("x", "5", 50));
  EXPECT_EQ(as_quarantined(whole_of(all_now), listing_of(now), aside), whole_of(all_then));
}

TEST(AsQuarantined, NothingIsSetAside) {
  const Listing now = listing_of({info("a", "1", 10)});
  EXPECT_EQ(as_quarantined(now, {})->hash(), now.hash());
}

}  // namespace
}  // namespace millrace::s3_source
