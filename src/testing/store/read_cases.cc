// SPDX-License-Identifier: Apache-2.0
// Reading: the range asked for, of the object that was pinned, or an error.
#include <gmock/gmock.h>

#include "millrace/base/sync.h"
#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

using ::testing::AnyOf;

void ranges(StoreCase& t) {
  const std::string body = patterned(100'000, 1);
  const ETag etag = t.put("a", body);
  const std::pair<std::uint64_t, std::size_t> cuts[] = {{0, 1}, {0, 100'000}, {99'999, 1}, {1, 99'999}, {777, 65'536}};
  for (const auto& [offset, size] : cuts) {
    for (const ETag& pin : {ETag(), etag}) {
      const auto read = t.read("a", offset, size, pin, 100'000);
      ASSERT_TRUE(read.ok()) << read.outcome.info.error().describe();
      EXPECT_EQ(read.outcome.received, size);
      EXPECT_EQ(read.bytes, body.substr(offset, size)) << offset << "+" << size;
      EXPECT_EQ(read.outcome.info->object_size, body.size());
      EXPECT_EQ(read.outcome.info->etag, etag);
      EXPECT_EQ(read.calls_of_done, 1);
    }
  }
}

void a_large_object(StoreCase& t) {
  const std::string body = patterned(5U << 20U, 2);
  t.put("a", body);
  const auto read = t.read("a", 0, body.size());
  ASSERT_TRUE(read.ok()) << read.outcome.info.error().describe();
  EXPECT_TRUE(read.bytes == body);
}

void what_is_not_there(StoreCase& t) {
  const auto read = t.read("a", 0, 1);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), ErrorCode::not_found);
  EXPECT_TRUE(read.outcome.info.error().is_fatal());
  EXPECT_EQ(read.outcome.received, 0U);
  EXPECT_EQ(t.store().head(t.key("a")).error().code(), ErrorCode::not_found);
  const auto whole = t.store().get(t.key("a"), 10);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code(), ErrorCode::not_found);
  EXPECT_TRUE(whole.error().is_fatal());
  EXPECT_NE(whole.error().message().find("a"), std::string::npos);
}

void f01_another_object_fails_the_pin(StoreCase& t) {
  const ETag old = t.put("a", "1111");
  t.put("a", "2222");
  const auto read = t.read("a", 0, 4, old, 4);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), ErrorCode::precondition_failed);
  EXPECT_TRUE(read.outcome.info.error().is_fatal());
  EXPECT_EQ(read.outcome.received, 0U);
}

// F01: a writer replaces the object over and over; a pinned read is the pinned version or an error.
void f01_an_overwrite_never_splices(StoreCase& t) {
  constexpr std::size_t kSize = 256U << 10U;
  const std::string bodies[] = {std::string(kSize, '1'), std::string(kSize, '2')};
  t.put("a", bodies[0]);
  Atomic<bool> stop{false};
  Thread writer("overwriter", [&] {
    for (int i = 1; !stop.load(); ++i) t.put("a", bodies[i % 2]);
  });
  int good = 0;
  for (int i = 0; i < 60; ++i) {
    const auto head = t.store().head(t.key("a"));
    ASSERT_TRUE(head) << head.error().describe();
    const auto read = t.read("a", 0, kSize, head->info.etag, kSize);
    if (read.ok()) {
      ++good;
      EXPECT_TRUE(read.bytes == bodies[0] || read.bytes == bodies[1]) << "two versions in one read";
    } else {
      EXPECT_EQ(read.code(), ErrorCode::precondition_failed) << read.outcome.info.error().describe();
    }
    const auto whole = t.store().get(t.key("a"), kSize);
    if (whole) {
      EXPECT_TRUE(whole->bytes == bodies[0] || whole->bytes == bodies[1]) << "two versions in one get";
    }
  }
  stop.store(true);
  writer.join();
  t.put("a", bodies[0]);
  EXPECT_TRUE(good > 0 || t.read("a", 0, 1).ok());
}

void another_size_is_drift(StoreCase& t) {
  t.put("a", "12345");
  const auto read = t.read("a", 0, 3, {}, 4);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), ErrorCode::drift);
  EXPECT_TRUE(read.outcome.info.error().is_fatal());
}

void c02_ranges_that_are_none_are_refused(StoreCase& t) {
  t.put("a", "12345");
  t.put("empty", "");
  EXPECT_FALSE(t.read("a", 0, 0).ok()) << "no bytes";
  EXPECT_FALSE(t.read("a", 5, 1).ok()) << "behind the end";
  EXPECT_FALSE(t.read("a", 0, 6).ok()) << "over the end";
  EXPECT_FALSE(t.read("a", UINT64_MAX, 1).ok());
  EXPECT_FALSE(t.read("empty", 0, 1).ok());
}

void whole_objects_have_a_limit(StoreCase& t) {
  const ETag etag = t.put("a", "12345");
  t.put("empty", "");
  const auto whole = t.store().get(t.key("a"), 5);
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_EQ(whole->bytes, "12345");
  EXPECT_EQ(whole->etag, etag);
  const auto over = t.store().get(t.key("a"), 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code(), ErrorCode::too_large);
  EXPECT_EQ(t.get("empty"), "");
}

void many_reads_at_once(StoreCase& t) {
  constexpr std::size_t kPiece = 32U << 10U;
  const std::string body = patterned(64 * kPiece, 3);
  const ETag etag = t.put("a", body);
  ReadsTogether reads(t.store());
  for (std::size_t i = 0; i < 64; ++i) reads.start(t.key("a"), i * kPiece, kPiece, etag, body.size());
  const auto ended = reads.wait();
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(ended[i].ok()) << ended[i].outcome.info.error().describe();
    EXPECT_TRUE(ended[i].bytes == body.substr(i * kPiece, kPiece)) << i;
    EXPECT_EQ(ended[i].calls_of_done, 1);
  }
}

void a_cancelled_read_ends_once(StoreCase& t) {
  const std::string body = patterned(1U << 20U, 4);
  t.put("a", body);
  ReadsTogether reads(t.store());
  for (int i = 0; i < 20; ++i) {
    const auto handle = reads.start(t.key("a"), 0, body.size());
    ASSERT_NE(handle, nullptr);
    handle->cancel();
    handle->cancel();
  }
  for (const auto& read : reads.wait()) {
    EXPECT_EQ(read.calls_of_done, 1);
    if (read.ok()) {
      EXPECT_TRUE(read.bytes == body) << "it had ended before";
    } else {
      EXPECT_EQ(read.code(), ErrorCode::cancelled);
    }
  }
}

void a_dropped_handle_changes_nothing(StoreCase& t) {
  t.put("a", "12345");
  ReadsTogether reads(t.store());
  reads.start(t.key("a"), 0, 5).reset();
  const auto ended = reads.wait();
  ASSERT_TRUE(ended[0].ok());
  EXPECT_EQ(ended[0].bytes, "12345");
}

void cancel_all_ends_everything(StoreCase& t) {
  const std::string body = patterned(1U << 20U, 5);
  t.put("a", body);
  ReadsTogether reads(t.store());
  for (int i = 0; i < 20; ++i) reads.start(t.key("a"), 0, body.size());
  t.store().cancel_all();
  for (const auto& read : reads.wait()) {
    EXPECT_EQ(read.calls_of_done, 1);
    if (!read.ok()) {
      EXPECT_EQ(read.code(), ErrorCode::cancelled);
    }
  }
  EXPECT_EQ(t.read("a", 0, 1).code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().get(t.key("a"), 10).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().head(t.key("a")).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().remove(t.key("a")).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().put({.key = t.key("b"), .body = "x"}).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().list({.prefix = t.prefix()}).error().code(), ErrorCode::cancelled);
}

bool pins(const StorePredicates& p) { return p.strong_etags; }

constexpr NamedCase kCases[] = {
    {"Ranges", ranges, pins},
    {"ALargeObject", a_large_object, always},
    {"WhatIsNotThere", what_is_not_there, always},
    {"F01_AnotherObjectFailsThePin", f01_another_object_fails_the_pin, pins},
    {"F01_AnOverwriteNeverSplices", f01_an_overwrite_never_splices, pins},
    {"AnotherSizeIsDrift", another_size_is_drift, always},
    {"C02_RangesThatAreNoneAreRefused", c02_ranges_that_are_none_are_refused, always},
    {"WholeObjectsHaveALimit", whole_objects_have_a_limit, always},
    {"ManyReadsAtOnce", many_reads_at_once, pins},
    {"ACancelledReadEndsOnce", a_cancelled_read_ends_once, always},
    {"ADroppedHandleChangesNothing", a_dropped_handle_changes_nothing, always},
    {"CancelAllEndsEverything", cancel_all_ends_everything, always},
};

}  // namespace

std::span<const NamedCase> read_cases() { return kCases; }

}  // namespace millrace::testing
