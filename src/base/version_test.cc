// SPDX-License-Identifier: Apache-2.0
#include "millrace/version.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(Version, TextAndNumberAreThoseOfTheThreeParts) {
  const std::string parts = std::to_string(MILLRACE_VERSION_MAJOR) + "." + std::to_string(MILLRACE_VERSION_MINOR) +
                            "." + std::to_string(MILLRACE_VERSION_PATCH);
  EXPECT_EQ(MILLRACE_VERSION, parts);
  EXPECT_EQ(MILLRACE_VERSION_NUMBER,
            MILLRACE_VERSION_MAJOR * 10000 + MILLRACE_VERSION_MINOR * 100 + MILLRACE_VERSION_PATCH);
}

TEST(Version, TheLibrarySaysItsOwn) { EXPECT_EQ(version(), MILLRACE_VERSION); }

}  // namespace
}  // namespace millrace
