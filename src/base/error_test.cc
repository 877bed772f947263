// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/error.h"

#include <gtest/gtest.h>

#include <chrono>
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

// What the other side asked for and what is known of an error outlive a change of its words, its class and its code.
TEST(Error, KeepsWhatIsKnownOfItUnderAnotherNameAndInOtherWords) {
  const Error told = Error::retryable(ErrorCode::throttled, "slow down")
                         .with("status", "503")
                         .with_retry_after(std::chrono::seconds(7));
  for (const Error& error : {Error(told).with_message("in other words"), Error(told).as(ErrorClass::fatal),
                             Error(told).as(ErrorClass::fatal, ErrorCode::unavailable)}) {
    EXPECT_EQ(error.context(), told.context());
    EXPECT_EQ(error.retry_after(), std::chrono::seconds(7));
  }
  EXPECT_EQ(Error(told).with_message("in other words").describe(), "in other words [status=503]");
  const Error other = Error(told).as(ErrorClass::fatal, ErrorCode::unavailable);
  EXPECT_EQ(other.code(), ErrorCode::unavailable);
  EXPECT_TRUE(other.is_fatal());
}

}  // namespace
}  // namespace millrace
