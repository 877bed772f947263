// SPDX-License-Identifier: Apache-2.0
// Goal: what the keys of the S3 sink do for somebody who runs the program. Method: the built program from files to
// files; names and bytes are compared with what was worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

struct SinkProgram : ::testing::Test {
  /// `sink` are lines of `sink: {s3: ...}` without indentation.
  [[nodiscard]] std::string pipeline(const std::string& sink, const std::string& more = "") const {
    std::string text = fmt::format(
        "pipeline: {{name: p}}\n"
        "source: {{s3: {{url: {}, name: t, lanes: 1, checkpoint: {{url: {}}}}}}}\n"
        "{}"
        "sink:\n  s3:\n    url: {}\n",
        folder.url("in/"), folder.url("ck/m.json"), more, folder.url("out/"));
    for (const std::string& line : lines_of(sink)) text += "    " + line + "\n";
    return folder.write("p.yaml", text);
  }
  ScratchFolder folder;
};

// The time of a record from a file is the file's last-modified.
TEST_F(SinkProgram, L01_TimesAreOfTheMessageOrOfItsArrival) {
  const std::filesystem::path file = folder.write("in/a.ndjson", "{\"n\":1}\n");
  // date -u -d 2024-12-30T23:30:00Z +%s
  const std::chrono::sys_seconds late_in_2024(std::chrono::seconds(1'735'601'400));
  std::filesystem::last_write_time(file, std::chrono::file_clock::from_sys(late_in_2024));
  const std::string wrap = "wrap: false\npath_template: \"{topic}/{date}/{hour}\"\n";
  const Ended by_message = millrace({"run", pipeline(wrap)});
  ASSERT_EQ(by_message.code, 0) << by_message.err;
  EXPECT_THAT(
      folder.files("out"),
      ElementsAre(Pair("t/2024-12-30/23/00000-00000000000000000000-00000000000000000000.jsonl", "{\"n\":1}\n")));
  std::filesystem::remove_all(folder.path() / "out");
  const Ended by_arrival = millrace({"run", pipeline(wrap + "time_source: ingest\n"), "--reset", "--yes"});
  ASSERT_EQ(by_arrival.code, 0) << by_arrival.err;
  const std::map<std::string, std::string> files = folder.files("out");
  ASSERT_THAT(files, ElementsAre(Pair(StartsWith("t/2"), "{\"n\":1}\n")));
  EXPECT_THAT(files.begin()->first, Not(HasSubstr("2024")));
}

}  // namespace
}  // namespace millrace::cli_test
