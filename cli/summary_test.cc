// SPDX-License-Identifier: Apache-2.0
// The last lines of a run, in each way that it can end.
#include "cli/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

RunReport report_of(ExitState state) {
  RunReport report;
  report.state = state;
  report.bounded = true;
  report.records_in = 1707;
  report.records_out = 1704;
  report.records_skipped = {{"malformed", 2}, {"invalid_utf8", 1}};
  report.payload_bytes = 1'300'000;
  report.bytes_written = 1'200'000;
  report.batches_written = 4;
  report.elapsed = std::chrono::milliseconds(3210);
  report.committed_summary = "all 8 objects, in file:///m.json";
  return report;
}

TEST(Summary, Completed) {
  EXPECT_EQ(summary_text(report_of(ExitState::completed), {.again = "millrace run p.yaml"}),
            "Completed after 3.2 s\n"
            "  records    1,707 in, 1,704 out, 3 skipped (invalid_utf8 1, malformed 2)\n"
            "  bytes      1.2 MiB read, 1.1 MiB written in 4 writes\n"
            "  committed  all 8 objects, in file:///m.json\n");
}

TEST(Summary, DeadLettersAreCountedApart) {
  RunReport report = report_of(ExitState::completed);
  report.records_skipped.clear();
  report.records_dead_lettered = {{"malformed", 3}};
  report.dead_letters_written = 3;
  EXPECT_NE(summary_text(report, {}).find("1,707 in, 1,704 out, 0 skipped, 3 dead-lettered (malformed 3)\n"),
            std::string::npos);
  const auto json = nlohmann::json::parse(summary_json(report, {}));
  EXPECT_EQ(json["records_dead_lettered"], nlohmann::json::parse(R"({"malformed":3})"));
  EXPECT_EQ(json["dead_letters_written"], 3);
  // K22: those that are not proven to be there are said to be none of them.
  report.dead_letters_written = 1;
  EXPECT_NE(summary_text(report, {}).find("3 dead-lettered (malformed 3), of which 1 are written\n"),
            std::string::npos);
}

TEST(Summary, StoppedSaysHowToGoOn) {
  const std::string text =
      summary_text(report_of(ExitState::stopped), {.again = "millrace run p.yaml", .exit_code = 3});
  EXPECT_EQ(text.rfind("Stopped after 3.2 s\n", 0), 0U);
  EXPECT_NE(text.find("  next       go on with: millrace run p.yaml\n"), std::string::npos);
}

TEST(Summary, FailedNamesTheCauseAndWhatIsOpen) {
  RunReport report = report_of(ExitState::failed);
  report.error = Error::fatal(ErrorCode::corrupt, "in/a.gz: cut short\n\x1b[31m").with("offset", "12");
  report.records_unacknowledged = 5;
  report.writes_dropped = 1;
  const std::string text = summary_text(report, {.again = "millrace run p.yaml", .exit_code = 1});
  EXPECT_NE(text.find("  error      in/a.gz: cut short\n\\x1b[31m [offset=12]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  open       5 not written, so not committed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  dropped    1 write given up on, as the sink was told to\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  next       when the cause is gone, go on with: millrace run p.yaml\n"), std::string::npos);
  EXPECT_NE(summary_text(report, {.again = "x", .exit_code = 2}).find("nothing was moved"), std::string::npos);
  EXPECT_NE(summary_text(report, {.again = "x", .position_kept = false, .exit_code = 1}).find("begins anew"),
            std::string::npos);
}

// A mended object is another one: what is committed of it would be gone, so the way leads past it first.
TEST(Summary, AFaultOfTheDataLeadsPastIt) {
  RunReport report = report_of(ExitState::failed);
  report.error = Error::fatal(ErrorCode::malformed, "record 3 of in/a: not valid JSON");
  const std::string text =
      summary_text(report, {.again = "millrace run p.yaml", .past_faults = "source.s3.x=y", .exit_code = 1});
  EXPECT_NE(
      text.find("  next       go on past it: millrace run p.yaml --set source.s3.x=y; then mend it, and: millrace "
                "run p.yaml --retry-quarantined\n"),
      std::string::npos)
      << text;
  report.error = Error::fatal(ErrorCode::too_large, "413 EntityTooLarge").with("component", "sink");
  EXPECT_EQ(summary_text(report, {.again = "x", .past_faults = "source.s3.x=y", .exit_code = 1}).find("past it"),
            std::string::npos)
      << "what a sink refuses is mended in no object";
}

// The same command would fail in the same way.
TEST(Summary, AMistakeInTheCommandIsNotRepeated) {
  RunReport report = report_of(ExitState::failed);
  report.records_in = 0;
  report.error = Error::fatal(ErrorCode::manifest, "lanes was 4 and is 2 now");
  const std::string text = summary_text(report, {.again = "millrace run p.yaml --set lanes=2", .exit_code = 1});
  EXPECT_NE(text.find("  next       nothing was moved: the error says what to change\n"), std::string::npos) << text;
}

TEST(Summary, SkippedRecordsThatCountAsFailure) {
  EXPECT_NE(summary_text(report_of(ExitState::completed), {.again = "x", .exit_code = 4, .counts_as_failed = true})
                .find("  exit       4, because records were skipped and --fail-on-skipped was given\n"),
            std::string::npos);
}

TEST(Summary, INV6_ObjectsThatWereLeftOutAreTold) {
  RunReport report = report_of(ExitState::completed);
  report.records_skipped.clear();
  report.objects_skipped = 3;
  const std::string text = summary_text(report, {.again = "x", .exit_code = 4, .counts_as_failed = true});
  EXPECT_NE(text.find("  left out   3 objects that could not be read, as the source was told to\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  exit       4, because objects were skipped and --fail-on-skipped was given\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(nlohmann::json::parse(summary_json(report, {.again = "x"}))["objects_skipped"], 3);
}

TEST(Summary, INV6_ObjectsThatWereSetAsideAreToldWithTheWayOn) {
  RunReport report = report_of(ExitState::completed_with_errors);
  report.objects_quarantined = 2;
  const std::string text = summary_text(report, {.again = "millrace run p.yaml", .exit_code = 4});
  EXPECT_TRUE(text.starts_with("CompletedWithErrors after ")) << text;
  EXPECT_NE(text.find("  set aside  2 objects could not be read; the manifest and `millrace status FILE` name them\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  next       mend or replace them, then: millrace run p.yaml --retry-quarantined\n"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(summary_json(report, {.again = "millrace run p.yaml", .exit_code = 4}));
  EXPECT_EQ(json["objects_quarantined"], 2);
  EXPECT_EQ(json["next"], "mend or replace them, then: millrace run p.yaml --retry-quarantined");
}

TEST(Summary, Json) {
  RunReport report = report_of(ExitState::failed);
  report.error = Error::fatal(ErrorCode::io, "no");
  const auto json = nlohmann::json::parse(summary_json(report, {.again = "millrace run p.yaml", .exit_code = 1}));
  EXPECT_EQ(json["state"], "Failed");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["records_skipped"]["malformed"], 2);
  EXPECT_EQ(json["error"], "no");
  EXPECT_EQ(json["committed"], "all 8 objects, in file:///m.json");
}

}  // namespace
}  // namespace millrace::cli
