// SPDX-License-Identifier: Apache-2.0
// Writing: whole objects, under conditions that hold against everybody.
#include <gmock/gmock.h>

#include "millrace/base/sync.h"
#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Pair;

void g02_every_byte_comes_back(StoreCase& t) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& body : {std::string(), std::string("\n"), std::string("\0", 1), all, patterned(1 << 20, 6)}) {
    t.put("a", body);
    EXPECT_TRUE(t.get("a") == body) << body.size();
  }
}

void an_overwrite_is_another_version(StoreCase& t) {
  const ETag first = t.put("a", "one");
  const ETag second = t.put("a", "two");
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.pins());
  EXPECT_EQ(t.get("a"), "two");
  EXPECT_EQ(t.store().head(t.key("a"))->info.etag, second);
}

void create_only(StoreCase& t) {
  ASSERT_TRUE(t.put_if_absent("a", "one"));
  const auto again = t.put_if_absent("a", "two");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::precondition_failed);
  EXPECT_TRUE(again.error().is_fatal());
  EXPECT_EQ(t.get("a"), "one");
  ASSERT_TRUE(t.store().remove(t.key("a")));
  EXPECT_TRUE(t.put_if_absent("a", "three"));
  EXPECT_EQ(t.get("a"), "three");
}

void replace_exactly(StoreCase& t) {
  const ETag first = t.put("a", "one");
  const auto second = t.put_if_match("a", "two", first);
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_EQ(t.get("a"), "two");
  const auto stale = t.put_if_match("a", "three", first);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code(), ErrorCode::precondition_failed);
  EXPECT_EQ(t.get("a"), "two");
  EXPECT_TRUE(t.put_if_match("a", "four", second->etag));
  const auto missing = t.put_if_match("b", "x", first);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().code(), AnyOf(ErrorCode::precondition_failed, ErrorCode::not_found));
  EXPECT_EQ(t.get("b"), "<not_found>");
}

// F12: of many that create the same key in the same moment, one succeeds and its bytes stay.
void f12_one_creator_wins(StoreCase& t) {
  constexpr int kCreators = 6;
  Atomic<int> wins{0};
  Atomic<int> winner{-1};
  std::vector<Thread> threads;
  for (int i = 0; i < kCreators; ++i) {
    threads.emplace_back("creator", [&, i] {
      const auto put = t.put_if_absent("a", std::to_string(i));
      if (put) {
        ++wins;
        winner = i;
      } else {
        EXPECT_EQ(put.error().code(), ErrorCode::precondition_failed) << put.error().describe();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wins.load(), 1);
  EXPECT_EQ(t.get("a"), std::to_string(winner.load()));
}

// F12: a counter that several processes add to under if_match loses no increment.
void f12_no_update_is_lost(StoreCase& t) {
  t.put("n", "0 0");
  std::vector<Thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back("counter", [&, i] {
      for (int done = 0, tries = 0; done < 5 && tries < 10'000; ++tries) {
        const auto now = t.store().get(t.key("n"), 100);
        if (!now) continue;
        // The writer's number keeps two equal counts from having equal bytes.
        const std::string next = std::to_string(std::stoi(now->bytes) + 1) + " " + std::to_string(i);
        if (t.put_if_match("n", next, now->etag)) ++done;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(std::stoi(t.get("n")), 15);
}

void metadata_comes_back(StoreCase& t) {
  const auto put = t.store().put({.key = t.key("a"),
                                  .body = "x",
                                  .content_type = "application/x-ndjson",
                                  .content_encoding = "gzip",
                                  .metadata = {{"millrace-xxh3", "0123456789abcdef"}, {"other", "a b"}}});
  ASSERT_TRUE(put) << put.error().describe();
  const auto head = t.store().head(t.key("a"));
  ASSERT_TRUE(head);
  EXPECT_THAT(head->metadata, Contains(Pair("millrace-xxh3", "0123456789abcdef")));
  EXPECT_THAT(head->metadata, Contains(Pair("other", "a b")));
  EXPECT_EQ(head->content_encoding, "gzip");
  EXPECT_EQ(head->content_type, "application/x-ndjson");
  t.put("a", "y");
  EXPECT_TRUE(t.store().head(t.key("a"))->metadata.empty()) << "an overwrite leaves nothing of the old object";
}

void a_checksum_is_that_of_the_bytes(StoreCase& t) {
  // The check values of each algorithm's definition.
  const std::pair<ChecksumKind, const char*> expected[] = {
      {ChecksumKind::none, ""},
      {ChecksumKind::crc32, "y/Q5Jg=="},
      {ChecksumKind::crc32c, "4waSgw=="},
      {ChecksumKind::crc64nvme, "rosUhgp5mIg="},
      {ChecksumKind::sha256, "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="}};
  for (const auto& [kind, checksum] : expected) {
    const auto put = t.store().put({.key = t.key("a"), .body = "123456789", .checksum = kind});
    ASSERT_TRUE(put) << put.error().describe();
    EXPECT_EQ(put->checksum, checksum);
  }
  EXPECT_EQ(t.get("a"), "123456789");
}

void removing_is_idempotent(StoreCase& t) {
  t.put("a", "x");
  EXPECT_TRUE(t.store().remove(t.key("a")));
  EXPECT_TRUE(t.store().remove(t.key("a")));
  EXPECT_EQ(t.get("a"), "<not_found>");
}

void puts_side_by_side(StoreCase& t) {
  std::vector<Thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back("putter", [&, i] {
      for (int j = 0; j < 8; ++j) {
        const std::string name = std::to_string(i) + "/" + std::to_string(j);
        t.put(name, patterned(10'000, static_cast<std::uint64_t>(i * 100 + j)));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(t.list().objects.size(), 32U);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) {
      const std::string name = std::to_string(i) + "/" + std::to_string(j);
      EXPECT_TRUE(t.get(name) == patterned(10'000, static_cast<std::uint64_t>(i * 100 + j))) << name;
    }
  }
}

bool conditions(const StorePredicates& p) { return p.conditional_writes; }
bool updates(const StorePredicates& p) { return p.conditional_writes && p.strong_etags; }

constexpr NamedCase kCases[] = {
    {"G02_EveryByteComesBack", g02_every_byte_comes_back, always},
    {"AnOverwriteIsAnotherVersion", an_overwrite_is_another_version,
     [](const StorePredicates& p) { return p.strong_etags; }},
    {"CreateOnly", create_only, conditions},
    {"ReplaceExactly", replace_exactly, updates},
    {"F12_OneCreatorWins", f12_one_creator_wins, conditions},
    {"F12_NoUpdateIsLost", f12_no_update_is_lost, updates},
    {"MetadataComesBack", metadata_comes_back, [](const StorePredicates& p) { return p.keeps_metadata; }},
    {"AChecksumIsThatOfTheBytes", a_checksum_is_that_of_the_bytes, always},
    {"RemovingIsIdempotent", removing_is_idempotent, always},
    {"PutsSideBySide", puts_side_by_side, always},
};

}  // namespace

std::span<const NamedCase> write_cases() { return kCases; }

}  // namespace millrace::testing
