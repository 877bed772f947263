// SPDX-License-Identifier: Apache-2.0
// Goal: whatever the size of an object and of the records in it, its parts pass the rules that stores have. Method: the
// rules as S3 and stricter stores write them down, over many sizes and over the numbers of the fault rows.
#include "millrace/store/part_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

std::vector<PartPlan::Part> parts_of(const PartPlan& plan) {
  std::vector<PartPlan::Part> parts;
  for (int number = 1; number <= plan.parts(); ++number) parts.push_back(plan.part(number));
  return parts;
}

// Every byte once and in order; all but the last of one size, and at least 5,242,880 bytes; not too many.
void expect_rules(std::uint64_t object_bytes, std::uint64_t wanted, std::size_t most_parts = 10'000) {
  const auto plan = PartPlan::make(object_bytes, wanted, {.most_parts = static_cast<int>(most_parts)});
  ASSERT_TRUE(plan) << plan.error().describe();
  const auto parts = parts_of(*plan);
  ASSERT_FALSE(parts.empty());
  EXPECT_LE(parts.size(), most_parts) << object_bytes;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].number, static_cast<int>(i) + 1);
    ASSERT_EQ(parts[i].offset, offset);
    offset += parts[i].size;
    if (i + 1 == parts.size()) break;
    ASSERT_EQ(parts[i].size, parts[0].size);
    ASSERT_GE(parts[i].size, 5'242'880U);
  }
  EXPECT_LE(parts.back().size, parts[0].size);
  EXPECT_EQ(offset, object_bytes);
}

TEST(PartPlan, J03_RecordsOfThreeAndSevenMegabytesPassBothRules) {
  for (const std::uint64_t record : {3'000'000U, 7'000'000U}) {
    for (std::uint64_t records = 1; records <= 40; ++records) {
      for (const std::uint64_t wanted : {1 * kMiB, 5 * kMiB, 8 * kMiB, 16 * kMiB}) {
        expect_rules(record * records, wanted);
      }
    }
  }
}

TEST(PartPlan, J03_SizesAroundTheEdges) {
  for (const std::uint64_t size : {0ULL, 1ULL, 5'242'879ULL, 5'242'880ULL, 5'242'881ULL, 10'485'759ULL, 10'485'760ULL,
                                   10'485'761ULL, 52'428'800'000ULL, 52'428'800'001ULL}) {
    expect_rules(size, 5 * kMiB);
  }
}

TEST(PartPlan, J04_PartsGrowWhereFewAreAllowed) {
  EXPECT_EQ(choose_part_bytes(200'000'000, 5 * kMiB, {.most_parts = 20}).value(), 10 * kMiB);
  expect_rules(200'000'000, 5 * kMiB, 20);
  expect_rules(20 * 5 * kMiB, 5 * kMiB, 20);
  EXPECT_EQ(choose_part_bytes(20 * 5 * kMiB, 5 * kMiB, {.most_parts = 20}).value(), 5 * kMiB);
  EXPECT_EQ(choose_part_bytes(20 * 5 * kMiB + 1, 5 * kMiB, {.most_parts = 20}).value(), 6 * kMiB);
}

TEST(PartPlan, TheLargestObjectOfS3) {
  const auto plan = PartPlan::make(5'497'558'138'880, 8 * kMiB);  // 5 TiB
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_LE(plan->parts(), 10'000);
  EXPECT_EQ(plan->part_bytes(), 525 * kMiB);
  EXPECT_EQ(choose_part_bytes(5'497'558'138'881, 8 * kMiB).error().code(), ErrorCode::limit);
  EXPECT_EQ(choose_part_bytes(21, 1, {.least_part_bytes = 1, .most_part_bytes = 10, .most_parts = 2}).error().code(),
            ErrorCode::limit);
  EXPECT_EQ(choose_part_bytes(20, 1, {.least_part_bytes = 1, .most_part_bytes = 10, .most_parts = 2}).value(), 10U);
}

TEST(PartPlan, AWantedSizeIsKeptWithinTheLimits) {
  EXPECT_EQ(choose_part_bytes(100 * kMiB, 8 * kMiB).value(), 8 * kMiB);
  EXPECT_EQ(choose_part_bytes(100 * kMiB, 0).value(), 5 * kMiB);
  EXPECT_EQ(choose_part_bytes(100 * kMiB, 6 * kMiB + 7).value(), 6 * kMiB + 7);
  EXPECT_EQ(choose_part_bytes(100 * kMiB, 1ULL << 40U).value(), 5ULL << 30U);
}

}  // namespace
}  // namespace millrace
