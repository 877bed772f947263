// SPDX-License-Identifier: Apache-2.0
// Listing and Lister: order, completeness, and stores that page badly. Expected keys are what was put into the store.
#include "connectors/s3/listing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/lister.h"
#include "connectors/s3/log_capture.h"
#include "connectors/s3/paged_store.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

class Listed {
 public:
  explicit Listed(std::shared_ptr<ObjectStore> store) : store_(std::move(store)) {}
  KeyFilter filter;
  ObjectLimits limits;
  std::string start_after;
  RetryPolicy retry{.tries = 8,
                    .backoff = {.initial = std::chrono::microseconds(1), .cap = std::chrono::microseconds(9)}};
  StopSignal stop;
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();

  Result<Listing> run(std::string prefix) {
    Lister lister(*store_, {"s3://b/" + prefix, prefix, start_after, &filter, &limits}, retry, Clock::real(),
                  Random::system(), Logger(log, "s3"), stop);
    return lister.run();
  }

 private:
  std::shared_ptr<ObjectStore> store_;
};

std::vector<std::string> keys_of(const Listing& listing) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < listing.size(); ++i) keys.emplace_back(listing[i].key);
  return keys;
}

std::shared_ptr<MemoryStore> store_with(std::size_t objects, std::size_t page) {
  auto store = std::make_shared<MemoryStore>(MemoryStore::Options{.max_page = page});
  for (std::size_t i = 0; i < objects; ++i) store->set(fmt::format("in/{:05}", i), fmt::format("{{\"n\":{}}}\n", i));
  return store;
}

/// Gives pages by hand.
class ScriptedStore final : public ListOnlyStore {
 public:
  std::vector<ListPage> pages;
  std::size_t asked = 0;
  [[nodiscard]] Result<ListPage> list(const ListRequest& /*request*/) override { return pages.at(asked++); }
};

TEST(Lister, E01_E04_EveryPageOnceWhateverItsSize) {
  for (const std::size_t page : {1UL, 7UL, 1000UL}) {
    const std::size_t objects = page == 1 ? 250 : 2500;
    const auto store = store_with(objects, page);
    auto listing = Listed(store).run("in/");
    ASSERT_TRUE(listing) << listing.error().message();
    EXPECT_EQ(listing->size(), objects);
    EXPECT_EQ(listing->counts().listed, objects);
    // A last page that is exactly full may or may not be followed by an empty one.
    EXPECT_EQ(store->count(StoreOp::list), (objects + page - 1) / page);
    const auto keys = keys_of(*listing);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), objects);
    EXPECT_TRUE(std::ranges::is_sorted(keys));
  }
}

TEST(Lister, E01_ARepeatedTokenIsAnErrorAndNoLoop) {
  for (const bool cycle : {false, true}) {
    auto store = std::make_shared<ScriptedStore>();
    store->pages = {{{{.key = "in/a", .size = 1}}, "t1"},
                    {{{.key = "in/b", .size = 1}}, cycle ? "t2" : "t1"},
                    {{{.key = "in/c", .size = 1}}, "t1"}};
    const auto listing = Listed(store).run("in/");
    ASSERT_FALSE(listing);
    EXPECT_EQ(listing.error().code(), ErrorCode::bad_response);
    EXPECT_NE(listing.error().message().find(cycle ? "page 3" : "page 2"), std::string::npos)
        << listing.error().message();
  }
}

TEST(Lister, TheStoresOrderIsNotTrusted) {
  auto store = std::make_shared<ScriptedStore>();
  store->pages = {{{{.key = "in/b", .size = 1}, {.key = "in/\xFF", .size = 1}}, "t"},
                  {{{.key = "in/a", .size = 1}, {.key = "in/B", .size = 1}}, ""}};
  const auto listing = Listed(store).run("in/");
  ASSERT_TRUE(listing);
  EXPECT_EQ(keys_of(*listing), (std::vector<std::string>{"in/B", "in/a", "in/b", "in/\xFF"}));
}

TEST(Lister, AKeyListedTwiceOrOutsideThePrefixIsAnError) {
  auto twice = std::make_shared<ScriptedStore>();
  twice->pages = {{{{.key = "in/a", .size = 1}}, "t"}, {{{.key = "in/a", .size = 1}}, ""}};
  const auto repeated = Listed(twice).run("in/");
  ASSERT_FALSE(repeated);
  EXPECT_NE(repeated.error().message().find("'in/a' twice"), std::string::npos) << repeated.error().message();
  auto outside = std::make_shared<ScriptedStore>();
  outside->pages = {{{{.key = "out/a", .size = 1}}, ""}};
  EXPECT_FALSE(Listed(outside).run("in/"));
}

TEST(Lister, A05_A08_A11_A16_KeysKeepEveryByte) {
  const std::vector<std::string> keys = {"in/ a",   "in/ b ",     "in/\tc",   "in//b",        "in///c",
                                         "in/a",    "in/a/b",     "in/c",     "in/e\xCC\x81", "in/\xC3\xA9",
                                         "in/100%", "in/a&b;c,d", "in/q?v#f", "in/a\x01z"};
  auto store = std::make_shared<MemoryStore>();
  for (const auto& key : keys) store->set(key, "x");
  const auto listing = Listed(store).run("in/");
  ASSERT_TRUE(listing);
  auto sorted = keys;
  std::ranges::sort(sorted);
  EXPECT_EQ(keys_of(*listing), sorted);
}

TEST(Lister, A09_AFailedPageEndsTheListingWithItsNumber) {
  const auto memory = store_with(30, 10);
  auto store = std::make_shared<FaultyStore>(memory);
  store->add({.op = StoreOp::list,
              .nth = 3,
              .times = Fault::kAlways,
              .error = Error::fatal(ErrorCode::bad_response, "not XML")});
  const auto listing = Listed(store).run("in/");
  ASSERT_FALSE(listing);
  EXPECT_NE(listing.error().message().find("page 3"), std::string::npos) << listing.error().message();
  EXPECT_NE(listing.error().message().find("not XML"), std::string::npos);
}

TEST(Lister, TransientFailuresAreRetriedAndTheEighthInARowIsFatal) {
  const auto passing = Error::retryable(ErrorCode::unavailable, "503");
  {
    auto store = std::make_shared<FaultyStore>(store_with(30, 10));
    store->add({.op = StoreOp::list, .nth = 2, .times = 7, .error = passing});
    Listed listed(store);
    const auto listing = listed.run("in/");
    ASSERT_TRUE(listing) << listing.error().message();
    EXPECT_EQ(listing->size(), 30U);
  }
  // An endpoint that never answered is given no patience: it is rather a wrong one.
  auto store = std::make_shared<FaultyStore>(store_with(30, 10));
  store->add({.op = StoreOp::list, .times = Fault::kAlways, .error = passing});
  Listed listed(store);
  listed.retry.patience = std::chrono::hours(1);
  const auto listing = listed.run("in/");
  ASSERT_FALSE(listing);
  EXPECT_TRUE(listing.error().is_fatal());
  EXPECT_EQ(store->hits(), 8U);
  EXPECT_NE(listing.error().message().find("after 8 tries"), std::string::npos) << listing.error().message();
}

// Wrong keys at the start fail soon; keys that are exchanged while it lists are waited for.
TEST(Lister, I03_RefusedCredentialsAreWaitedForOnceTheStoreHasAnswered) {
  const auto refused = Error::retryable(ErrorCode::credentials, "403 InvalidAccessKeyId");
  for (const std::uint64_t nth : {1U, 2U}) {
    auto store = std::make_shared<FaultyStore>(store_with(30, 10));
    store->add({.op = StoreOp::list, .nth = nth, .times = 50, .error = refused});
    Listed listed(store);
    listed.retry.patience = std::chrono::hours(1);
    const auto listing = listed.run("in/");
    EXPECT_EQ(listing.has_value(), nth == 2);
    EXPECT_EQ(store->hits(), nth == 2 ? 50U : 8U);
  }
}

TEST(Lister, MaxRetriesThatWereAskedForAreTheEndAlsoOfAStoreThatIsAway) {
  auto store = std::make_shared<FaultyStore>(store_with(30, 10));
  store->add({.op = StoreOp::list,
              .nth = 2,
              .times = Fault::kAlways,
              .error = Error::retryable(ErrorCode::unavailable, "503")});
  Listed listed(store);
  listed.retry.tries = 3;
  listed.retry.tries_are_final = true;
  listed.retry.patience = std::chrono::hours(1);
  EXPECT_FALSE(listed.run("in/"));
  EXPECT_EQ(store->hits(), 3U);
}

TEST(Lister, E05_AStopEndsTheListing) {
  auto store = std::make_shared<FaultyStore>(store_with(30, 10));
  Listed listed(store);
  store->add({.op = StoreOp::list, .nth = 2, .before = [&] { listed.stop.request(); }});
  const auto listing = listed.run("in/");
  ASSERT_FALSE(listing);
  EXPECT_EQ(listing.error().code(), ErrorCode::cancelled);
}

TEST(Lister, A15_MarkersAndEmptyObjectsAreCounted) {
  auto store = std::make_shared<MemoryStore>();
  store->set("in/", "");
  store->set("in/sub/", "");
  store->set("in/sub/a.ndjson", "{}\n");
  store->set("in/real/", "{}\n");
  store->set("in/zero", "");
  store->set("in/cold", "{}\n", {.storage_class = "GLACIER"});
  const auto listing = Listed(store).run("in/");
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->size(), 6U);
  EXPECT_EQ(listing->counts().listed, 6U);
  EXPECT_EQ(listing->counts().markers, 2U);
  EXPECT_EQ(listing->counts().empty, 1U);
  EXPECT_EQ(listing->counts().archived, 1U);
  EXPECT_EQ((*listing)[2].kind, ObjectKind::data) << (*listing)[2].key;  // in/real/ has a body
}

TEST(Lister, E06_FilteredKeysAreCounted) {
  Listed listed(store_with(30, 10));
  listed.filter = *KeyFilter::make({"0000*"}, {"00003"});
  listed.start_after = "in/00001";
  const auto listing = listed.run("in/");
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->size(), 7U);  // 2, 4, 5 ... 9
  EXPECT_EQ(listing->counts().listed, 28U);
  EXPECT_EQ(listing->counts().filtered, 21U);
}

TEST(Lister, E06_SizesAndTimesLeaveOutAndAreCounted) {
  auto store = std::make_shared<MemoryStore>();
  for (int i = 0; i < 6; ++i) store->set(fmt::format("in/{}", i), std::string(i, 'x'), {.last_modified = i * 1000});
  Listed listed(store);
  listed.filter = *KeyFilter::make({}, {"2"});
  listed.limits = {.min_size = 1, .max_size = 4, .modified_after = 2000, .modified_before = 5000};
  const auto listing = listed.run("in/");
  ASSERT_TRUE(listing);
  EXPECT_EQ(keys_of(*listing), (std::vector<std::string>{"in/3", "in/4"}));
  EXPECT_EQ(listing->counts().listed, 6U);
  EXPECT_EQ(listing->counts().filtered, 4U);
  EXPECT_EQ(listing->counts().empty, 0U) << "what is left out is not counted twice";
}

TEST(Lister, ATimeThatTheStoreDoesNotTellEndsTheListing) {
  auto store = std::make_shared<ScriptedStore>();
  store->pages = {{{{.key = "in/a", .size = 1}}, ""}};
  Listed listed(store);
  listed.limits.modified_after = 1;
  const auto listing = listed.run("in/");
  ASSERT_FALSE(listing);
  EXPECT_NE(listing.error().message().find("page 1: the store gives no time of change for 'in/a'"), std::string::npos)
      << listing.error().message();
}

TEST(Lister, E08_ArchiveClassesOfEveryStoreAreKnown) {
  const std::vector<std::string> archived = {"GLACIER",           "DEEP_ARCHIVE", "ARCHIVE",     "COLD_ARCHIVE",
                                             "DEEP_COLD_ARCHIVE", "Archive",      "ColdArchive", "DeepColdArchive"};
  const std::vector<std::string> read = {"",           "STANDARD",           "STANDARD_IA",         "ONEZONE_IA",
                                         "GLACIER_IR", "REDUCED_REDUNDANCY", "INTELLIGENT_TIERING", "EXPRESS_ONEZONE"};
  auto store = std::make_shared<MemoryStore>();
  for (const auto& name : archived) store->set("in/cold/" + name, "x", {.storage_class = name});
  for (const auto& name : read) store->set("in/warm/" + name, "x", {.storage_class = name});
  const auto listing = Listed(store).run("in/");
  ASSERT_TRUE(listing);
  EXPECT_EQ(listing->counts().archived, archived.size());
  for (std::size_t i = 0; i < listing->size(); ++i) {
    EXPECT_EQ((*listing)[i].kind == ObjectKind::archived, (*listing)[i].key.starts_with("in/cold/"))
        << (*listing)[i].key;
  }
}

TEST(Lister, A14_SiblingsOfAPrefixWithoutASlashAreNamed) {
  const auto siblings = [](std::vector<std::string> keys, std::string prefix) {
    auto store = std::make_shared<MemoryStore>();
    for (auto& key : keys) store->set(std::move(key), "x");
    return sibling_prefixes(*Listed(store).run(prefix), prefix);
  };
  EXPECT_EQ(siblings({"data/v1/a", "data/v10/b", "data/v1-old/c", "data/v1-old/d"}, "data/v1"),
            "data/v1-old/, data/v10/");
  EXPECT_EQ(siblings({"data/v1/a", "data/v1.bak"}, "data/v1"), "data/v1.bak");
  EXPECT_EQ(siblings({"data/v1/a", "data/v10/b"}, "data/v1/"), "");
  EXPECT_EQ(siblings({"in/part-1", "in/part-2"}, "in/part-"), "") << "a prefix of names is used as one";
  EXPECT_EQ(siblings({"in/a", "in/a/b"}, "in/a"), "");
}

TEST(Listing, DealsRoundRobin) {
  const auto listing = Listed(store_with(10, 1000)).run("in/");
  EXPECT_EQ(listing->objects_of_lane(0, 4), 3U);
  EXPECT_EQ(listing->objects_of_lane(1, 4), 3U);
  EXPECT_EQ(listing->objects_of_lane(2, 4), 2U);
  EXPECT_EQ(listing->object_of_lane(1, 4, 2).key, "in/00009");
  EXPECT_EQ(listing->objects_of_lane(11, 12), 0U);
}

RC_GTEST_PROP(Listing, EveryObjectIsInExactlyOneLane, ()) {
  const auto lanes = *rc::gen::inRange<std::uint64_t>(1, 20);
  const auto listing = Listed(store_with(*rc::gen::inRange<std::size_t>(0, 100), 1000)).run("in/");
  std::multiset<std::string> dealt;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    for (std::uint64_t i = 0; i < listing->objects_of_lane(lane, lanes); ++i) {
      dealt.emplace(listing->object_of_lane(lane, lanes, i).key);
    }
  }
  const auto keys = keys_of(*listing);
  RC_ASSERT((dealt == std::multiset<std::string>(keys.begin(), keys.end())));
}

TEST(Listing, SizesFromOutsideSaturate) {
  auto store = std::make_shared<MemoryStore>();
  store->set("in/a", "x", {.listed_size = UINT64_MAX - 1});
  store->set("in/b", "x", {.listed_size = UINT64_MAX - 1});
  EXPECT_EQ(Listed(store).run("in/")->bytes(), UINT64_MAX);
}

}  // namespace
}  // namespace millrace::s3_source
