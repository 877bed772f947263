// SPDX-License-Identifier: Apache-2.0
// The program's log: the exact line as text and as JSON, foreign bytes that can do nothing, and folding by a clock that
// the test moves.
#include "millrace/log/log_sink.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace millrace {
namespace {

class StillClock final : public Clock {
 public:
  SteadyTime now() const override { return SteadyTime(passed); }
  UnixMicros unix_micros() const override {
    // 2026-07-01T12:00:00Z
    return 1'782'907'200'000'000 + std::chrono::duration_cast<std::chrono::microseconds>(passed).count();
  }
  void wait_until(CondVar&, Mutex&, SteadyTime) override {}

  Duration passed{0};
};

struct Capture {
  explicit Capture(LogFormat format = LogFormat::text, Duration fold_within = std::chrono::seconds(10)) {
    log = ProgramLog::make({.format = format,
                            .fold_within = fold_within,
                            .output = [this](std::string_view line) { lines.emplace_back(line); },
                            .clock = &clock});
  }
  [[nodiscard]] Logger logger(std::string component) const { return {log, std::move(component), LogLevel::debug}; }

  StillClock clock;
  std::vector<std::string> lines;
  std::shared_ptr<ProgramLog> log;
};

TEST(ProgramLog, TextLine) {
  Capture capture;
  capture.logger("s3-source").info("listed the prefix", {{"objects", "12"}, {"url", "s3://b/in/"}});
  capture.logger("s3-source").warn("slow", {{"why", "503 SlowDown"}, {"empty", ""}, {"quote", "a\"b"}, {"eq", "a=b"}});
  capture.logger("engine").debug("tick");
  capture.logger("engine").error("broken");
  EXPECT_EQ(
      capture.lines,
      (std::vector<std::string>{
          "2026-07-01T12:00:00Z info  s3-source  listed the prefix objects=12 url=s3://b/in/\n",
          "2026-07-01T12:00:00Z warn  s3-source  slow why=\"503 SlowDown\" empty=\"\" quote=\"a\\\"b\" eq=\"a=b\"\n",
          "2026-07-01T12:00:00Z debug engine  tick\n", "2026-07-01T12:00:00Z error engine  broken\n"}));
}

TEST(ProgramLog, JsonLine) {
  Capture capture(LogFormat::json);
  capture.logger("s3-source").info("a \"b\"\n", {{"key", "in/\xC3\xA9\t"}, {"raw", "\xFF"}, {"time", "x"}});
  ASSERT_EQ(capture.lines.size(), 1U);
  EXPECT_EQ(capture.lines[0].find('\n'), capture.lines[0].size() - 1);
  const auto line = nlohmann::json::parse(capture.lines[0]);
  EXPECT_EQ(line, (nlohmann::json{{"time", "2026-07-01T12:00:00.000Z"},
                                  {"level", "info"},
                                  {"component", "s3-source"},
                                  {"message", "a \"b\"\n"},
                                  {"key", "in/\xC3\xA9\t"},
                                  {"raw", "\\xff"},
                                  {"time_", "x"}}));
}

TEST(ProgramLog, A08_ForeignBytesCannotForgeALineOrDriveATerminal) {
  Capture capture;
  capture.logger("s").info("m",
                           {{"key", "in/a\n2026-07-01T12:00:00Z error s  forged"}, {"esc", "\x1b[2J\x1b]0;x\x07"}});
  ASSERT_EQ(capture.lines.size(), 1U);
  EXPECT_EQ(capture.lines[0],
            "2026-07-01T12:00:00Z info  s  m key=\"in/a\\n2026-07-01T12:00:00Z error s  forged\" "
            "esc=\\x1b[2J\\x1b]0;x\\x07\n");
  capture.logger("s").info("in/\ttab ", {{"key", "a "}});
  EXPECT_EQ(capture.lines[1], "2026-07-01T12:00:00Z info  s  in/\\ttab  key=a\\x20\n");
}

TEST(ProgramLog, FoldsWarningsOfOneKindWithACount) {
  Capture capture;
  const Logger log = capture.logger("s3");
  for (int i = 1; i <= 5; ++i) log.warn("GET failed", {{"attempt", std::to_string(i)}});
  EXPECT_EQ(capture.lines.size(), 1U);
  capture.clock.passed = std::chrono::seconds(9);
  capture.log->tick();
  EXPECT_EQ(capture.lines.size(), 1U);
  capture.clock.passed = std::chrono::seconds(10);
  capture.log->tick();
  ASSERT_EQ(capture.lines.size(), 2U);
  EXPECT_EQ(capture.lines[0], "2026-07-01T12:00:00Z warn  s3  GET failed attempt=1\n");
  EXPECT_EQ(capture.lines[1], "2026-07-01T12:00:10Z warn  s3  GET failed attempt=5 repeated=4\n");
  log.warn("GET failed", {{"attempt", "6"}});
  EXPECT_EQ(capture.lines.size(), 3U);  // a new fold begins with a line
}

TEST(ProgramLog, FoldsInfoOnlyWhenTheFieldsAreTheSameAndDebugNever) {
  Capture capture;
  const Logger log = capture.logger("s3");
  for (int i = 0; i < 3; ++i) log.info("lane started", {{"lane", std::to_string(i)}});
  for (int i = 0; i < 3; ++i) log.debug("retry");
  for (int i = 0; i < 3; ++i) log.info("waiting for the owner");
  EXPECT_EQ(capture.lines.size(), 7U);
  log.warn("waiting for the owner");  // another level is another kind
  capture.logger("other").info("waiting for the owner");
  EXPECT_EQ(capture.lines.size(), 9U);
}

TEST(ProgramLog, ACountIsNotLostAtTheEnd) {
  Capture capture;
  for (int i = 0; i < 3; ++i) capture.logger("s3").error("no");
  capture.log->flush();
  ASSERT_EQ(capture.lines.size(), 2U);
  EXPECT_EQ(capture.lines[1], "2026-07-01T12:00:00Z error s3  no repeated=2\n");
  for (int i = 0; i < 2; ++i) capture.logger("s3").error("no");
  capture.log.reset();
  ASSERT_EQ(capture.lines.size(), 4U);
  EXPECT_EQ(capture.lines[3], "2026-07-01T12:00:00Z error s3  no\n");  // one more needs no count
}

TEST(ProgramLog, FoldingCanBeTurnedOffAndIsBounded) {
  Capture unfolded(LogFormat::text, Duration(0));
  for (int i = 0; i < 3; ++i) unfolded.logger("s").warn("m");
  EXPECT_EQ(unfolded.lines.size(), 3U);
  Capture many;
  for (int i = 0; i < 1000; ++i) many.logger("s").warn("m" + std::to_string(i));
  for (int i = 999; i < 1002; ++i) many.logger("s").warn("m" + std::to_string(i));
  EXPECT_EQ(many.lines.size(), 1003U);
}

}  // namespace
}  // namespace millrace
