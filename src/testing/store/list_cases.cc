// SPDX-License-Identifier: Apache-2.0
// Listing: complete, by string prefix, page by page.
#include <gmock/gmock.h>

#include <set>

#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void an_empty_prefix_lists_nothing(StoreCase& t) {
  const auto listing = t.list();
  EXPECT_THAT(listing.objects, IsEmpty());
  EXPECT_EQ(listing.pages, 1U);
}

void a_listing_tells_what_was_put(StoreCase& t) {
  const ETag etag = t.put("a", "twelve bytes");
  const auto listing = t.list();
  ASSERT_EQ(listing.objects.size(), 1U);
  const ObjectInfo& object = listing.objects.front();
  EXPECT_EQ(object.key, "a");
  EXPECT_EQ(object.size, 12U);
  EXPECT_EQ(object.etag, etag);
  EXPECT_NE(object.last_modified, kNoTimestamp);
  const auto head = t.store().head(t.key("a"));
  ASSERT_TRUE(head) << head.error().describe();
  EXPECT_EQ(head->info.size, 12U);
  EXPECT_EQ(head->info.etag, etag);
}

void e04_every_page_is_read(StoreCase& t) {
  std::set<std::string> expected;
  for (int i = 0; i < 23; ++i) {
    const std::string key = "p" + std::to_string(i % 3) + "/" + std::to_string(i);
    t.put(key, std::to_string(i));
    expected.insert(key);
  }
  const std::vector<std::string> sorted(expected.begin(), expected.end());
  for (const std::size_t max_keys : {1U, 2U, 7U, 22U, 23U, 24U, 1000U}) {
    EXPECT_EQ(t.list("", max_keys).sorted_keys(), sorted) << max_keys;
  }
}

// With the page size that is usual, so that the store's own limit is what ends the first page.
void e04_one_more_than_a_page(StoreCase& t) {
  std::vector<std::string> expected;
  for (std::size_t i = 0; i <= t.predicates().page; ++i) {
    expected.push_back("k" + std::to_string(100'000 + i));
    t.put(expected.back(), "x");
  }
  const auto listing = t.list();
  EXPECT_EQ(listing.sorted_keys(), expected);
}

void a14_a_prefix_is_a_string(StoreCase& t) {
  for (const char* key : {"data/v1/a", "data/v10/b", "data/v1-old/c", "data/w"}) t.put(key, "x");
  EXPECT_THAT(t.list("data/v1").sorted_keys(), ElementsAre("data/v1-old/c", "data/v1/a", "data/v10/b"));
  EXPECT_THAT(t.list("data/v1/").sorted_keys(), ElementsAre("data/v1/a"));
  EXPECT_THAT(t.list("data/v1/a").sorted_keys(), ElementsAre("data/v1/a"));
  EXPECT_THAT(t.list("data/v1/ab").sorted_keys(), IsEmpty());
  EXPECT_THAT(t.list("ata/").sorted_keys(), IsEmpty());
}

void start_after_is_exclusive(StoreCase& t) {
  for (const char* key : {"a", "b-1", "b.1", "b/1", "b0", "c"}) t.put(key, "x");
  EXPECT_THAT(t.list("", 1000, "b.1").sorted_keys(), ElementsAre("b/1", "b0", "c"));
  EXPECT_THAT(t.list("", 1000, "b/0").sorted_keys(), ElementsAre("b/1", "b0", "c"));
  EXPECT_THAT(t.list("", 1, "a").sorted_keys(), ElementsAre("b-1", "b.1", "b/1", "b0", "c"));
  EXPECT_THAT(t.list("b", 2, "b/1").sorted_keys(), ElementsAre("b0"));
  EXPECT_THAT(t.list("", 1000, "c").sorted_keys(), IsEmpty());
}

void what_is_removed_is_not_listed(StoreCase& t) {
  t.put("a", "x");
  t.put("b", "x");
  ASSERT_TRUE(t.store().remove(t.key("a")));
  EXPECT_THAT(t.list().sorted_keys(), ElementsAre("b"));
}

void objects_of_no_bytes_are_listed(StoreCase& t) {
  t.put("empty", "");
  const auto listing = t.list();
  ASSERT_EQ(listing.objects.size(), 1U);
  EXPECT_EQ(listing.objects[0].size, 0U);
}

constexpr NamedCase kCases[] = {
    {"AnEmptyPrefixListsNothing", an_empty_prefix_lists_nothing, always},
    {"AListingTellsWhatWasPut", a_listing_tells_what_was_put, always},
    {"E04_EveryPageIsRead", e04_every_page_is_read, always},
    {"E04_OneMoreThanAPage", e04_one_more_than_a_page, always},
    {"A14_APrefixIsAString", a14_a_prefix_is_a_string, always},
    {"StartAfterIsExclusive", start_after_is_exclusive, always},
    {"WhatIsRemovedIsNotListed", what_is_removed_is_not_listed, always},
    {"ObjectsOfNoBytesAreListed", objects_of_no_bytes_are_listed, always},
};

}  // namespace

std::span<const NamedCase> list_cases() { return kCases; }

}  // namespace millrace::testing
