// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace millrace {
namespace {

// Tables by code have kErrorCodes places, so a code that is added behind the last one must move it.
TEST(ErrorCodes, AreCountedAndNamedApart) {
  std::set<std::string> names;
  for (std::size_t code = 0; code < kErrorCodes; ++code) {
    names.emplace(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), kErrorCodes);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<ErrorCode>(kErrorCodes)), "unknown");
}

}  // namespace
}  // namespace millrace
