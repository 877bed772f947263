// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/quarantine.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <string>

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
