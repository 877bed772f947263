// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/fault_script.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace millrace::testing {
namespace {

TEST(FaultScript, LineGivesEveryField) {
  const auto fault = ServerFault::parse(
      "op=GetObject key='in/a b' skip=2 times=every status=503 code=SlowDown header='Retry-After: 2' body='x\\n\\x00y' "
      "reset_after=10 delay_ms=5 framing=chunked omit_last_chunk");
  ASSERT_TRUE(fault) << fault.error().message();
  EXPECT_EQ(fault->operation, "GetObject");
  EXPECT_EQ(fault->key, "in/a b");
  EXPECT_EQ(fault->skip, 2U);
  EXPECT_EQ(fault->times, kEveryTime);
  EXPECT_EQ(fault->status, 503);
  EXPECT_EQ(fault->code, "SlowDown");
  EXPECT_EQ(fault->headers, (HttpHeaders{{"Retry-After", "2"}}));
  EXPECT_EQ(fault->body, std::string("x\n\0y", 4));
  EXPECT_EQ(fault->delivery.reset_after, 10U);
  EXPECT_EQ(fault->delivery.delay, std::chrono::milliseconds(5));
  EXPECT_EQ(fault->delivery.framing, BodyFraming::chunked);
  EXPECT_TRUE(fault->delivery.omit_last_chunk);
}

TEST(FaultScript, UnknownWordsAndBadValuesAreNamed) {
  EXPECT_NE(ServerFault::parse("op=GetObject sttus=500").error().message().find("'sttus'"), std::string::npos);
  EXPECT_NE(ServerFault::parse("skip=two").error().message().find("'two' does not fit 'skip'"), std::string::npos);
  EXPECT_NE(ServerFault::parse("body='no end").error().message().find("no closing quote"), std::string::npos);
  EXPECT_FALSE(ServerFault::parse("framing=folded"));
}

TEST(FaultScript, TakesTheFirstThatIsDue) {
  FaultScript script;
  script.add({.operation = "GetObject", .skip = 1, .times = 1, .status = 500});
  script.add({.operation = "GetObject", .key = "b", .times = kEveryTime, .status = 503});
  EXPECT_FALSE(script.take("GetObject", "a"));  // skipped
  EXPECT_FALSE(script.take("HeadObject", "b"));
  EXPECT_FALSE(script.all_happened());
  EXPECT_EQ(script.take("GetObject", "b")->status, 500);
  EXPECT_TRUE(script.all_happened());
  EXPECT_EQ(script.take("GetObject", "b")->status, 503);
  EXPECT_FALSE(script.take("GetObject", "a"));
}

TEST(FaultScript, EveryCannedCaseParses) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MILLRACE_FAULT_CASES)) {
    ++files;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.starts_with('#')) continue;
      const auto fault = ServerFault::parse(line);
      EXPECT_TRUE(fault) << entry.path() << ": " << fault.error().message();
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace millrace::testing
