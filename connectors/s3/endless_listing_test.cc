// SPDX-License-Identifier: Apache-2.0
// Goal: a listing that never gets on ends with an error that names it, and one that is merely odd is read (E01).
// Method: a store that makes its pages on the fly, each with a token of its own, as long as it is asked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "connectors/s3/lister.h"
#include "connectors/s3/log_capture.h"
#include "connectors/s3/page_trail.h"
#include "connectors/s3/paged_store.h"

namespace millrace::s3_source {
namespace {

std::string key(std::size_t i) { return fmt::format("in/{:06}", i); }

/// `count` keys from `first` on.
std::vector<ObjectInfo> keys(std::size_t first, std::size_t count) {
  std::vector<ObjectInfo> page;
  for (std::size_t i = first; i < first + count; ++i) page.push_back({.key = key(i), .size = 1});
  return page;
}

Result<Listing> list(PagedStore& store, std::vector<std::string> exclude = {}, std::string start_after = "") {
  StopSignal stop;
  const auto filter = KeyFilter::make({}, exclude);
  Lister lister(store, {"s3://b/in/", "in/", std::move(start_after), &*filter}, RetryPolicy{}, Clock::real(),
                Random::system(), Logger(std::make_shared<LogCapture>(), "s3"), stop);
  return lister.run();
}

/// Never ends by itself: after `most` pages it must have been found out.
void expect_endless(const std::function<std::vector<ObjectInfo>(std::size_t)>& page, std::size_t most,
                    std::string_view why, std::vector<std::string> exclude = {}) {
  PagedStore store([&](std::size_t number) -> std::optional<std::vector<ObjectInfo>> {
    EXPECT_LE(number, most) << why;
    if (number > most) return std::nullopt;
    return page(number);
  });
  const auto listing = list(store, std::move(exclude));
  ASSERT_FALSE(listing) << why;
  EXPECT_EQ(listing.error().code(), ErrorCode::bad_response);
  EXPECT_TRUE(listing.error().is_fatal());
  for (const std::string& part : {std::string("listing s3://b/in/, page "), std::string(why)}) {
    EXPECT_NE(listing.error().message().find(part), std::string::npos) << listing.error().message();
  }
}

TEST(EndlessListing, E01_PagesWithoutAKey) {
  expect_endless([](std::size_t) { return keys(0, 0); }, 1000, "1000 pages in a row without a key");
  expect_endless([](std::size_t page) { return keys(page, page < 500 ? 1 : 0); }, 1500, "in a row without a key");
}

TEST(EndlessListing, E01_TheSamePageForEver) {
  // The second may be an overlap; the third is a loop.
  expect_endless([](std::size_t) { return keys(0, 1000); }, 3, "begins with 'in/000000' as an earlier page did");
  expect_endless([](std::size_t) { return keys(7, 1); }, 3, "begins with 'in/000007'");
  expect_endless([](std::size_t page) { return keys(page % 3 * 10, 10); }, 7, "as an earlier page did");
}

TEST(EndlessListing, E01_KeysThatAreLeftOutAreSeenAllTheSame) {
  expect_endless([](std::size_t) { return keys(0, 1000); }, 3, "as an earlier page did", {"**"});
  expect_endless([](std::size_t page) { return keys(page % 50, 10); }, 200, "as an earlier page did", {"**"});
}

TEST(EndlessListing, E01_KeysThatComeAgainInOtherPages) {
  // Windows that slide over the same keys: no two begin alike for long, and what is held stays bounded.
  expect_endless([](std::size_t page) { return keys(page * 7 % 5000, 1000); }, 66, "twice");
  // Two pages in turn, the first of which has a key more.
  expect_endless([](std::size_t page) { return page % 2 == 0 ? keys(0, 11) : keys(0, 10); }, 3,
                 "as an earlier page did");
}

TEST(EndlessListing, E01_PagesWithoutAKeyInBetweenAreLegal) {
  const std::size_t gap = PageTrail::kMostEmptyPages;  // one page with a key, the rest without
  PagedStore store([&](std::size_t page) -> std::optional<std::vector<ObjectInfo>> {
    if (page == 3 * gap) return std::nullopt;
    return keys(page, page % gap == 0 ? 1 : 0);
  });
  const auto listing = list(store);
  ASSERT_TRUE(listing) << listing.error().message();
  ASSERT_EQ(listing->size(), 3U);
  EXPECT_EQ((*listing)[2].key, key(2 * gap));
}

TEST(EndlessListing, E01_AStoreThatKnowsNoStartAfterGetsOnAllTheSame) {
  // Page after page of keys before it: they are keys, and left out here.
  PagedStore store([](std::size_t page) -> std::optional<std::vector<ObjectInfo>> {
    if (page == 2 * PageTrail::kMostEmptyPages) return std::nullopt;
    return keys(page, 1);
  });
  const auto listing = list(store, {}, key(2 * PageTrail::kMostEmptyPages - 3));
  ASSERT_TRUE(listing) << listing.error().message();
  EXPECT_EQ(listing->size(), 2U);
  EXPECT_EQ(listing->counts().filtered, 2 * PageTrail::kMostEmptyPages - 2);
}

TEST(EndlessListing, E01_AStoreWithoutAnOrderIsListedWhole) {
  // Directory buckets list as they like. More keys than the first look takes, backwards.
  constexpr std::size_t kPages = 140;
  PagedStore store([&](std::size_t page) -> std::optional<std::vector<ObjectInfo>> {
    if (page == kPages) return std::nullopt;
    return keys((kPages - 1 - page) * 500, 500);
  });
  const auto listing = list(store);
  ASSERT_TRUE(listing) << listing.error().message();
  ASSERT_EQ(listing->size(), kPages * 500);
  for (std::size_t i = 0; i < listing->size(); ++i) ASSERT_EQ((*listing)[i].key, key(i));
}

TEST(EndlessListing, APageThatOverlapsTheOneBeforeIsRefusedForTheKeyThatCameTwice) {
  PagedStore store([](std::size_t page) -> std::optional<std::vector<ObjectInfo>> {
    if (page == 2) return std::nullopt;
    return keys(page * 9, 10);
  });
  const auto listing = list(store);
  ASSERT_FALSE(listing);
  EXPECT_NE(listing.error().message().find("'in/000009' twice"), std::string::npos) << listing.error().message();
}

}  // namespace
}  // namespace millrace::s3_source
