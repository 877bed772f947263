// SPDX-License-Identifier: Apache-2.0
// LaneRoute: all objects from a start, or those alone that were set aside.
#include "connectors/s3/route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace millrace::s3_source {
namespace {

/// Objects "k0", "k1" ... of 10, 11 ... bytes.
std::shared_ptr<const Listing> listing_of(int objects, const std::string& etag = "\"old\"") {
  ListingBuilder builder;
  for (int i = 0; i < objects; ++i) {
    EXPECT_TRUE(builder.add({.key = fmt::format("k{}", i), .size = 10U + i, .etag = {etag}, .last_modified = 1}));
  }
  return std::make_shared<const Listing>(*std::move(builder).finish());
}

std::vector<std::uint64_t> ordinals_of(LaneRoute route) {
  std::vector<std::uint64_t> ordinals;
  for (; !route.at_end(); route.next()) ordinals.push_back(route.ordinal());
  return ordinals;
}

QuarantinedObject aside(std::uint64_t lane, std::uint64_t ordinal, std::uint64_t place, std::uint64_t records = 0) {
  return {.lane = lane,
          .ordinal = ordinal,
          .key = fmt::format("k{}", place),
          .etag = "\"old\"",
          .size = 10 + place,
          .records = records};
}

TEST(LaneRoute, GoesToEveryObjectOfItsLaneFromTheStart) {
  const auto listing = listing_of(7);
  EXPECT_EQ(ordinals_of({listing, 0, 3, Position{}}), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(ordinals_of({listing, 1, 3, Position{}}), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(ordinals_of({listing, 0, 3, Position{1, 5}}), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(ordinals_of({listing, 0, 3, Position{1, kObjectComplete}}), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(ordinals_of({listing, 0, 3, Position{2, kObjectComplete}}), (std::vector<std::uint64_t>{}));
}

TEST(LaneRoute, CountsOffWhatIsCommittedOfTheFirstObjectOnly) {
  LaneRoute route(listing_of(4), 0, 1, Position{1, 5});
  EXPECT_EQ(route.written(), 5U);
  EXPECT_EQ(route.passed(), 1U);
  EXPECT_EQ(route.bytes_passed(), 10U);
  EXPECT_EQ(route.length(), 4U);
  route.next();
  EXPECT_EQ(route.written(), 0U);
  const LaneRoute whole(listing_of(4), 0, 1, Position{1, kObjectComplete});
  EXPECT_EQ(whole.written(), 0U);
  EXPECT_EQ(whole.passed(), 2U);
}

TEST(LaneRoute, OfARetryGoesToWhatWasSetAsideAsItIsNow) {
  const auto then = listing_of(7);
  ListingBuilder builder;
  ASSERT_TRUE(builder.add({.key = "k1", .size = 99, .etag = {"\"new\""}, .last_modified = 7}));
  const Listing now = *std::move(builder).finish();
  const Quarantine quarantine{aside(0, 1, 3, 4), aside(1, 0, 1, 2), aside(1, 1, 4)};
  const auto routes = routes_to(then, visits_of(quarantine, now, 3));
  ASSERT_EQ(routes.size(), 3U);
  EXPECT_EQ(ordinals_of(routes[0]), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(ordinals_of(routes[1]), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(ordinals_of(routes[2]), (std::vector<std::uint64_t>{}));
  EXPECT_EQ(routes[1].length(), 2U);
  EXPECT_EQ(routes[1].written(), 2U);
  EXPECT_EQ(routes[1].object().key, "k1");
  EXPECT_EQ(routes[1].object().etag, "\"new\"");
  EXPECT_EQ(routes[1].object().size, 99U);
  EXPECT_EQ(routes[1].object().last_modified, 7);
  // No longer listed: nothing to read, and it says so.
  EXPECT_FALSE(routes[0].object().has_bytes());
  EXPECT_FALSE(routes[0].visit()->now.has_value());
  EXPECT_EQ(routes[1].after(1)->key, "k4");
  EXPECT_FALSE(routes[1].after(2));
}

TEST(LaneRoute, GoesOnBehindAnEarlierRetryOnlyInTheVersionThatItRead) {
  for (const auto& [etag, written] :
       {std::pair<std::string, std::uint64_t>{"\"mended\"", 9}, {"\"other\"", 4}, {"W/\"mended\"", 4}, {"", 4}}) {
    QuarantinedObject object = aside(0, 1, 1, 4);
    object.retry = RetryProgress{etag == "\"other\"" ? "\"mended\"" : etag, 9};
    const auto now = listing_of(2, etag);
    const auto routes = routes_to(listing_of(2), visits_of({object}, *now, 1));
    EXPECT_EQ(routes[0].written(), written) << etag;
  }
}

}  // namespace
}  // namespace millrace::s3_source
