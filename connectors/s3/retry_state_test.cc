// SPDX-License-Identifier: Apache-2.0
// RetryState against manifests of listings that hold the mended objects from the beginning.
#include "connectors/s3/retry_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/lane_trail.h"

namespace millrace::s3_source {
namespace {

constexpr std::uint64_t kLanes = 2;

/// Objects "k0" to "k6"; those of `changed` with a size and an ETag of their own.
std::shared_ptr<const Listing> listing_of(const std::map<int, std::uint64_t>& changed = {}) {
  ListingBuilder builder;
  for (int i = 0; i < 7; ++i) {
    const auto other = changed.find(i);
    const bool same = other == changed.end();
    EXPECT_TRUE(builder.add({.key = fmt::format("k{}", i),
                             .size = same ? 10U : other->second,
                             .etag = {same ? "\"old\"" : fmt::format("\"new {}\"", i)}}));
  }
  return std::make_shared<const Listing>(*std::move(builder).finish());
}

WholeListing whole_of(const Listing& listing) {
  WholeListing whole;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    whole.add({.key = std::string(listing[i].key), .size = listing[i].size, .etag = {std::string(listing[i].etag)}});
  }
  return whole;
}

/// A complete one.
Manifest manifest_of(const std::shared_ptr<const Listing>& listing) {
  Manifest manifest;
  manifest.complete = true;
  manifest.lanes = kLanes;
  manifest.listing = {listing->size(), listing->bytes(), listing->hash()};
  manifest.whole = whole_of(*listing);
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
    LaneTrail trail(listing, lane, kLanes);
    manifest.positions.push_back(
        *trail.advance(watermark_of({listing->objects_of_lane(lane, kLanes) - 1, kObjectComplete})));
  }
  return manifest;
}

QuarantinedObject aside(std::uint64_t lane, std::uint64_t ordinal, std::uint64_t records) {
  return {.lane = lane,
          .ordinal = ordinal,
          .key = fmt::format("k{}", ordinal * kLanes + lane),
          .etag = "\"old\"",
          .size = 10,
          .records = records};
}

class RetryStateTest : public ::testing::Test {
 protected:
  RetryStateTest() {
    Manifest manifest = manifest_of(listing_of());
    manifest.quarantined = {aside(0, 1, 3), aside(0, 3, 0), aside(1, 2, 5)};
    const auto now = listing_of({{2, 70}, {6, 1}, {5, 0}});
    state.emplace(listing_of(), visits_of(manifest.quarantined, *now, kLanes), manifest);
  }
  /// As a manifest in which these objects had always been what they are now.
  void expect_pinned_as(const std::map<int, std::uint64_t>& changed, std::vector<std::uint64_t> lanes) {
    const Manifest expected = manifest_of(listing_of(changed));
    const auto positions = state->take_positions();
    ASSERT_EQ(positions.size(), lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) EXPECT_EQ(positions[i], expected.positions[lanes[i]]);
    EXPECT_EQ(state->listed(), expected.listing);
    EXPECT_EQ(state->whole(), expected.whole);
  }
  std::optional<RetryState> state;
};

TEST_F(RetryStateTest, TakesOutWhatIsCommittedAndPinsIt) {
  expect_pinned_as({}, {});
  state->advance(0, {1, kObjectComplete});
  ASSERT_EQ(state->left().size(), 2U);
  EXPECT_FALSE(state->done());
  expect_pinned_as({{2, 70}}, {0});
  expect_pinned_as({{2, 70}}, {});
  state->advance(0, {3, kObjectComplete});
  state->advance(1, {2, kObjectComplete});
  EXPECT_TRUE(state->left().empty());
  EXPECT_TRUE(state->done());
  expect_pinned_as({{2, 70}, {6, 1}, {5, 0}}, {0, 1});
}

TEST_F(RetryStateTest, NotesHowFarTheOneInProgressIs) {
  state->advance(0, {1, 3});
  EXPECT_FALSE(state->left()[0].retry) << "no further than it was";
  state->advance(0, {1, 4});
  EXPECT_EQ(state->left()[0].retry, (RetryProgress{"\"new 2\"", 4}));
  EXPECT_EQ(state->left()[0].records, 3U);
  // A lane that is already inside the next one is behind this one.
  state->advance(0, {3, 1});
  ASSERT_EQ(state->left().size(), 2U);
  EXPECT_EQ(state->left()[0].retry, (RetryProgress{"\"new 6\"", 1}));
  expect_pinned_as({{2, 70}}, {0});
}

TEST_F(RetryStateTest, WhatFailsAgainStaysWithItsNewReason) {
  QuarantinedObject again = aside(0, 1, 3);
  again.reason = "once more";
  EXPECT_FALSE(state->is_aside_again(0, 1));
  state->set_aside_again({again});
  EXPECT_TRUE(state->is_aside_again(0, 1));
  EXPECT_FALSE(state->is_aside_again(1, 0)) << "another lane's";
  state->advance(0, {1, kObjectComplete});
  ASSERT_EQ(state->left().size(), 3U);
  EXPECT_EQ(state->left()[0].reason, "once more");
  state->advance(0, {3, kObjectComplete});
  state->advance(1, {2, kObjectComplete});
  EXPECT_EQ(state->left(), Quarantine{again});
  EXPECT_TRUE(state->done());
  expect_pinned_as({{6, 1}, {5, 0}}, {0, 1});
}

}  // namespace
}  // namespace millrace::s3_source
