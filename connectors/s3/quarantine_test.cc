// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/quarantine.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <string>

#include "connectors/s3/lane_progress.h"

namespace millrace::s3_source {
namespace {

TEST(Quarantine, StandsInOrderAndEachObjectOnce) {
  Quarantine quarantine;
  for (const auto& [lane, ordinal] : {std::pair{1, 5}, {0, 7}, {1, 2}, {0, 7}}) {
    set_aside(quarantine, {.lane = static_cast<std::uint64_t>(lane),
                           .ordinal = static_cast<std::uint64_t>(ordinal),
                           .records = quarantine.size()});
  }
  ASSERT_EQ(quarantine.size(), 3U);
  EXPECT_EQ(quarantine[0].ordinal, 7U);
  EXPECT_EQ(quarantine[0].records, 3U) << "the later one is kept";
  EXPECT_EQ(quarantine[1].ordinal, 2U);
  EXPECT_EQ(quarantine[2].ordinal, 5U);
}

TEST(Quarantine, AStoreThatIsAwayOrRefusesIsNoFaultOfAnObject) {
  for (const ErrorCode code : {ErrorCode::throttled, ErrorCode::unavailable, ErrorCode::credentials,
                               ErrorCode::permission_denied, ErrorCode::user_code, ErrorCode::internal}) {
    EXPECT_FALSE(is_fault_of_object(code)) << to_string(code);
  }
  EXPECT_TRUE(is_fault_of_object(ErrorCode::truncated));
  EXPECT_TRUE(is_fault_of_object(ErrorCode::malformed));
}

// An object goes to the manifest when the watermark is behind the first record that was not delivered, and no sooner:
// up to there it may be read again.
TEST(ObjectsSetAside, INV1_WaitForTheWatermark) {
  ObjectsSetAside aside;
  aside.add({.ordinal = 2, .records = 7});
  aside.add({.ordinal = 3, .records = 0});
  aside.add({.ordinal = 9, .records = 1});
  const auto offset = [](std::int64_t ordinal, std::int64_t index) { return Watermark((ordinal << 40) + index); };
  EXPECT_TRUE(aside.take_behind(offset(2, 0)).empty());
  EXPECT_TRUE(aside.take_behind(offset(2, 7)).empty()) << "all that was delivered is settled, and no more";
  EXPECT_EQ(aside.size(), 3U);
  EXPECT_EQ(aside.take_behind(offset(2, 8)).at(0).ordinal, 2U);
  EXPECT_TRUE(aside.take_behind(offset(3, 0)).empty());
  EXPECT_EQ(aside.take_behind(offset(8, 0)).at(0).ordinal, 3U);
  EXPECT_EQ(aside.size(), 1U);
}

TEST(RecordsHash, IsTheFoldOfThePage) {
  RecordsHash hash;
  EXPECT_EQ(hash.value(), 0U);
  hash.fold("{\"n\":1}");
  hash.fold("");
  EXPECT_EQ(hash.value(), XXH3_64bits_withSeed("", 0, XXH3_64bits_withSeed("{\"n\":1}", 7, 0)));
  RecordsHash joined;
  joined.fold("{\"n\":1}x");
  EXPECT_NE(joined.value(), hash.value());
}

}  // namespace
}  // namespace millrace::s3_source
