// SPDX-License-Identifier: Apache-2.0
// Goal: what no store takes is refused before it is asked. Method: one upload, bent one way at a time.
#include "store/upload_rules.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr auto kCrc = ChecksumKind::crc32c;

std::string why_not(ChecksumKind checksum, const std::vector<PartResult>& parts,
                    PutCondition condition = PutCondition::none) {
  const auto checked = check_completion(checksum, parts, condition);
  if (checked) return "";
  EXPECT_EQ(checked.error().code(), ErrorCode::invalid_request);
  EXPECT_TRUE(checked.error().is_fatal());
  return checked.error().message();
}

TEST(UploadRules, PartsInOrderMakeAnObject) {
  const std::vector<PartResult> parts = {{1, 4, ETag{"a"}, "9jr07g=="}, {7, 5, ETag{"b"}, "g7Vl2A=="}};
  EXPECT_EQ(why_not(kCrc, parts), "");
  EXPECT_EQ(why_not(kCrc, parts, PutCondition::if_absent), "");
  EXPECT_THAT(why_not(kCrc, parts, PutCondition::if_match), HasSubstr("no exact version"));
  EXPECT_EQ(why_not(ChecksumKind::none, {{1, 4, ETag{"a"}, ""}}), "");
  EXPECT_THAT(why_not(kCrc, {}), HasSubstr("one part at least"));
  for (const int second : {1, 2}) {
    EXPECT_THAT(why_not(ChecksumKind::none, {{2, 4, ETag{"a"}, ""}, {second, 4, ETag{"b"}, ""}}),
                HasSubstr("ascending order"));
  }
  EXPECT_THAT(why_not(ChecksumKind::none, {{0, 4, ETag{"a"}, ""}}), HasSubstr("ascending order"));
}

TEST(UploadRules, APartWithoutTheChecksumOfItsUploadIsRefused) {
  // None, that of another kind, and one that is too long for its kind.
  for (const char* other : {"", "KfXb5+L/cdQ=", "9jr07gAA", "9jr0"}) {
    EXPECT_THAT(why_not(kCrc, {{1, 4, ETag{"a"}, "9jr07g=="}, {2, 5, ETag{"b"}, other}}),
                HasSubstr("part 2 has no crc32c"))
        << other;
  }
}

TEST(UploadRules, PartNumbers) {
  EXPECT_TRUE(check_part_number(1));
  EXPECT_TRUE(check_part_number(10'000));
  EXPECT_TRUE(check_part_number(20, 20));
  for (const int number : {0, -1, 10'001}) EXPECT_EQ(check_part_number(number).error().code(), ErrorCode::limit);
  EXPECT_FALSE(check_part_number(21, 20));
}

}  // namespace
}  // namespace millrace
