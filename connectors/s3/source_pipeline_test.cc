// SPDX-License-Identifier: Apache-2.0
// The whole way, from files through a pipeline to a sink: completed, stopped and resumed, failed and resumed, run
// again. What the sink holds is compared with what the files hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/log_capture.h"
#include "connectors/s3/manifest.h"
#include "millrace/connectors/s3.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/compile.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Capture;
using millrace::testing::CaptureSink;

class PipelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    for (int i = 0; i < 40; ++i) {
      std::string text;
      for (int line = 0; line < 100; ++line) {
        lines.push_back(fmt::format("{{\"object\":{},\"line\":{}}}", i, line));
        text += lines.back() + "\n";
      }
      const bool gzip = i % 7 == 3;
      write(fmt::format("in/{}/part-{:03}.ndjson{}", i % 3, i, gzip ? ".gz" : ""), gzip ? gzip_of(text) : text);
    }
    std::ranges::sort(lines);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  S3SourceOptions options() {
    S3SourceOptions options;
    options.url = "file://" + (folder / "in").string() + "/";
    options.checkpoint.url = "file://" + (folder / "progress.json").string();
    return options;
  }
  static testing::CaptureSinkOptions small_chunks() {
    testing::CaptureSinkOptions options;
    options.policy.max_records = 25;
    options.retry.max_attempts = 1;
    return options;
  }
  RunReport run(std::function<void(Pipeline&)> with = {}) {
    PipelineOptions settings;
    settings.name = "backfill";
    settings.checkpoint_interval = std::chrono::milliseconds(100);
    Pipeline pipeline(settings);
    pipeline.log(Logger(log, "test")).sink(CaptureSink::make(capture, small_chunks())).chain([](const ChainContext&) {
      return decode::raw() | encode::raw();
    });
    if (with) with(pipeline);
    return pipeline.run(S3Source::make(options()));
  }
  Manifest manifest() {
    std::ifstream file(folder / "progress.json", std::ios::binary);
    return *parse_manifest(std::string{std::istreambuf_iterator<char>(file), {}});
  }
  static std::string why(const RunReport& report) {
    return std::string(to_string(report.state)) + (report.error ? ": " + report.error->describe() : "");
  }
  std::vector<std::string> written() {
    auto all = capture->lines();
    std::ranges::sort(all);
    return all;
  }

  std::filesystem::path folder;
  std::vector<std::string> lines;
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
};

TEST_F(PipelineTest, INV2_CompletedWhenEverythingIsWrittenAndCommitted) {
  const RunReport report = run();
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_TRUE(report.bounded);
  EXPECT_EQ(report.records_in, 4000U);
  EXPECT_EQ(written(), lines);
  EXPECT_TRUE(manifest().complete);
  EXPECT_TRUE(manifest().owner.released);
  EXPECT_NE(report.committed_summary.find("all 40 objects committed"), std::string::npos) << report.committed_summary;
}

TEST_F(PipelineTest, AFinishedBackfillRunAgainEndsAtOnce) {
  ASSERT_EQ(run().state, ExitState::completed);
  capture = std::make_shared<Capture>();
  const RunReport again = run();
  ASSERT_EQ(again.state, ExitState::completed) << why(again);
  EXPECT_EQ(again.records_in, 0U);
  EXPECT_TRUE(capture->lines().empty());
  EXPECT_NE(again.committed_summary.find("nothing was left to do"), std::string::npos) << again.committed_summary;
}

TEST_F(PipelineTest, M07_AnEmptyPrefixCompletes) {
  std::filesystem::remove_all(folder / "in");
  std::filesystem::create_directories(folder / "in");
  const RunReport report = run();
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(log->count("no object to read under file://"), 1U) << log->all();
}

TEST_F(PipelineTest, INV1_StoppedAndResumedNothingIsMissing) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    RunReport report = run([&](Pipeline& pipeline) {
      const StopHandle stop = pipeline.stop_handle();
      capture->decide([stop, seen = 0](const SealedBatch&) mutable -> std::optional<Error> {
        if (++seen == 20) stop.request();
        return std::nullopt;
      });
    });
    if (report.state == ExitState::completed) break;
    ASSERT_EQ(report.state, ExitState::stopped) << why(report);
    EXPECT_TRUE(manifest().owner.released) << "the next run need not wait";
    EXPECT_EQ(report.exit_code(), 3);
  }
  std::vector<std::string> unique = written();
  unique.erase(std::ranges::unique(unique).begin(), unique.end());
  EXPECT_EQ(unique, lines);
  EXPECT_TRUE(manifest().complete);
}

TEST_F(PipelineTest, INV1_AFailedWriteIsReplayedByTheNextRun) {
  capture->decide([seen = 0](const SealedBatch&) mutable -> std::optional<Error> {
    if (++seen == 30) return Error::fatal(ErrorCode::permission_denied, "the sink is shut");
    return std::nullopt;
  });
  const RunReport failed = run();
  ASSERT_EQ(failed.state, ExitState::failed);
  EXPECT_FALSE(manifest().complete);
  capture->decide({});
  const RunReport resumed = run();
  ASSERT_EQ(resumed.state, ExitState::completed) << why(resumed);
  std::vector<std::string> unique = written();
  unique.erase(std::ranges::unique(unique).begin(), unique.end());
  EXPECT_EQ(unique, lines);
}

TEST_F(PipelineTest, D05_ABadObjectFailsTheRunAndTheRestIsKept) {
  write("in/1/zzz.ndjson.gz", "no gzip");
  const RunReport report = run();
  ASSERT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_NE(report.error->message().find("zzz.ndjson.gz"), std::string::npos) << why(report);
  EXPECT_FALSE(manifest().complete);
}

}  // namespace
}  // namespace millrace::s3_source
