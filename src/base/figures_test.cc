// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/figures.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Figures, Counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(of_these(1, "object"), "1 object");
  EXPECT_EQ(of_these(2000, "object"), "2,000 objects");
}

TEST(Figures, Bytes) {
  EXPECT_EQ(bytes_text(0.0), "0 B");
  EXPECT_EQ(bytes_text(1023.0), "1023 B");
  EXPECT_EQ(bytes_text(std::uint64_t{1024}), "1.0 KiB");
  EXPECT_EQ(bytes_text(1024.0 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(bytes_text(5e15), "4547.5 TiB");
}

TEST(Figures, Times) {
  using std::chrono::milliseconds;
  EXPECT_EQ(time_text(milliseconds(0)), "0.0 s");
  EXPECT_EQ(time_text(milliseconds(3250)), "3.2 s");
  EXPECT_EQ(time_text(milliseconds(59999)), "59.9 s");
  EXPECT_EQ(time_text(milliseconds(60000)), "1:00");
  EXPECT_EQ(time_text(milliseconds(3723000)), "1:02:03");
}

}  // namespace
}  // namespace millrace
