// SPDX-License-Identifier: Apache-2.0
// Goal: a listing of millions of keys fits (INV-7). Method: a global operator new counts the bytes that live while many
// keys are built into a listing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/lister.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/paged_store.h"
#include "millrace/base/sync.h"

namespace {
millrace::Atomic<std::size_t> live_bytes{0};

// The size stands in front of each block, so that what is freed can be taken off again.
void* counted(std::size_t size) {
  constexpr std::size_t kFront = 16;
  auto* memory = static_cast<char*>(std::malloc(size + kFront));
  if (memory == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(memory) = size;
  live_bytes.fetch_add(size);
  return memory + kFront;
}
void uncounted(void* memory) noexcept {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - 16;
  live_bytes.fetch_sub(*reinterpret_cast<std::size_t*>(block));
  std::free(block);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }

namespace millrace::s3_source {
namespace {

TEST(Listing, INV7_AtMostAHundredBytesAKeyAboveItsOwnLength) {
  // Above a size at which the first blocks do not matter; ETags as S3 gives them for multipart uploads.
  constexpr std::size_t kKeys = 100'000;
  ObjectInfo object{.size = 12345, .etag = {"\"9b2cf535f27731c974343645a3985328-100\""}, .last_modified = 1};
  std::size_t key_bytes = 0;
  const std::size_t before = live_bytes.load();
  std::size_t peak = 0;
  {
    ListingBuilder builder;
    for (std::size_t i = 0; i < kKeys; ++i) {
      // Out of order, so that it has to be sorted.
      object.key = fmt::format("exports/2026-07/dt={:02}/part-{:08}.ndjson.gz", i % 30, (i * 7919) % kKeys);
      key_bytes += object.key.size();
      ASSERT_TRUE(builder.add(object));
    }
    const auto listing = std::move(builder).finish();
    ASSERT_TRUE(listing) << listing.error().message();
    peak = live_bytes.load() - before;
  }
  const double above = static_cast<double>(peak - key_bytes) / kKeys;
  EXPECT_LE(above, 100.0);
  RecordProperty("bytes_per_key_above_key_length", fmt::format("{:.1f}", above));
  std::printf("bytes per key above the key's length: %.1f\n", above);
}

/// Two million keys of a store that makes them up page by page, 35 bytes each.
std::string key_of(std::size_t i) { return fmt::format("in/dt=2026-07-{:02}/part-{:014}.gz", i / 100'000, i); }

TEST(Listing, E05_INV7_TwoMillionKeysInOneListing) {
  constexpr std::size_t kKeys = 2'000'000;
  constexpr std::size_t kPage = 1000;
  std::size_t peak = 0;
  std::size_t key_bytes = 0;
  const std::size_t before = live_bytes.load();
  PagedStore store([&](std::size_t page) -> std::optional<std::vector<ObjectInfo>> {
    peak = std::max(peak, live_bytes.load() - before);
    if (page == kKeys / kPage) return std::nullopt;
    std::vector<ObjectInfo> objects(kPage);
    for (std::size_t i = 0; i < kPage; ++i) {
      objects[i] = {.key = key_of(page * kPage + i), .size = i, .last_modified = 1};
      objects[i].etag.value = "\"9b2cf535f27731c974343645a3985328\"";
      key_bytes += objects[i].key.size();
    }
    return objects;
  });
  StopSignal stop;
  Lister lister(store, {"s3://b/in/", "in/", "", nullptr, nullptr}, RetryPolicy{}, Clock::real(), Random::system(),
                Logger(), stop);
  const auto listing = lister.run();
  ASSERT_TRUE(listing) << listing.error().message();
  ASSERT_EQ(listing->size(), kKeys);
  EXPECT_EQ(lister.keys_so_far(), kKeys) << "what the progress shows while it goes on";
  EXPECT_EQ(lister.pages_so_far(), kKeys / kPage + 1);
  EXPECT_EQ(listing->bytes(), kKeys / kPage * (kPage * (kPage - 1) / 2));
  for (std::size_t i = 0; i < kKeys; i += 997) ASSERT_EQ((*listing)[i].key, key_of(i));
  for (std::size_t i = 1; i < kKeys; ++i) ASSERT_LT((*listing)[i - 1].key, (*listing)[i].key);
  EXPECT_LE(static_cast<double>(peak - key_bytes) / kKeys, 100.0);
  EXPECT_LE(peak, std::size_t{512} << 20U);
  std::printf("bytes per key above the key's length: %.1f\n", static_cast<double>(peak - key_bytes) / kKeys);
}

}  // namespace
}  // namespace millrace::s3_source
