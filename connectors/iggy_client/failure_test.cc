// SPDX-License-Identifier: Apache-2.0
// Goal: each code of a server has the class that iggy's own list asks for. Method: the list, by hand.
#include "connectors/iggy_client/failure.h"

#include <gtest/gtest.h>

namespace millrace::iggy {
namespace {

TEST(Failure, ClassesOfCodes) {
  for (const std::uint32_t code : {3U, 4U, 5U, 41U, 42U, 43U, 44U, 47U, 53U, 54U, 3024U, 4039U, 4100U, 14003U}) {
    EXPECT_TRUE(refused(code, "asking").is_fatal()) << code;
    EXPECT_FALSE(ends_session(code)) << code;
  }
  for (const std::uint32_t code : {8U, 20U, 30U, 40U, 57U, 58U, 1009U, 2010U, 3007U, 5006U, 5009U, 14001U}) {
    EXPECT_TRUE(refused(code, "asking").is_retryable()) << code;
  }
  for (const std::uint32_t code : {4022U, 4025U}) EXPECT_TRUE(refused(code, "sending").is_record()) << code;
  for (const std::uint32_t code : {8U, 30U, 40U, 14000U, 14001U}) EXPECT_TRUE(ends_session(code)) << code;
  for (const std::uint32_t code : {1010U, 2011U, 5003U}) {
    EXPECT_EQ(refused(code, "asking").code(), ErrorCode::not_found) << code;
  }
}

TEST(Failure, AnUnknownCodeIsFatalAndPrinted) {
  for (const std::uint32_t code : {9999U, 14004U, 0xFFFFFFFFU}) {
    const Error error = refused(code, "polling 's/t'");
    EXPECT_TRUE(error.is_fatal());
    EXPECT_NE(error.message().find("polling 's/t'"), std::string::npos);
    EXPECT_NE(error.message().find(std::to_string(code)), std::string::npos);
  }
}

// A server of 0.8 answers 20 to a token that it does not know; elsewhere 20 may pass.
TEST(Failure, AnUnknownTokenIsFatal) {
  EXPECT_TRUE(login_refused(20, "logging in").is_fatal());
  EXPECT_EQ(login_refused(20, "logging in").code(), ErrorCode::credentials);
}

TEST(Failure, EvictionsAsCodes) {
  const std::pair<int, std::uint32_t> reasons[] = {{1, 40},     {2, 3},   {6, 3},   {7, 40},  {8, 40},
                                                   {9, 42},     {10, 53}, {11, 40}, {12, 40}, {13, 30},
                                                   {14, 14003}, {15, 4},  {99, 40}};
  for (const auto& [reason, code] : reasons) {
    EXPECT_EQ(code_of({static_cast<std::uint8_t>(reason), {}, {}}), code) << reason;
  }
}

TEST(Failure, AnOtherVersionIsNamedWithTheWindow) {
  const Error error = evicted({14, {0, 12, 0}, {0, 12, 2}}, {0, 11, 0}, "logging in");
  EXPECT_TRUE(error.is_fatal());
  EXPECT_NE(error.message().find("0.12.0 to 0.12.2, not 0.11.0"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace millrace::iggy
