// SPDX-License-Identifier: Apache-2.0
// Goal: what the keys of the S3 sink do for somebody who runs the program. Method: the built program from files to
// files; names and bytes are compared with what was worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// Byte for byte, with the fallback for what lacks the field.
TEST_F(SinkProgram, L03_RecordsAreKeptApartByAField) {
  folder.write("in/a.ndjson",
               "{\"user\":{\"region\":\"eu/1\"},\"n\":1}\n{\"n\":2}\n{\"user\":{\"region\":\"us\"},\"n\":3}\n"
               "{\"user\":{\"region\":\"eu/1\"},\"n\":4}\n");
  const std::string sink = "wrap: false\nname_encoding: percent\npath_template: \"{topic}/{field.user.region}\"\n";
  const Ended ended = millrace({"run", pipeline(sink)});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(folder.files("out"),
              ElementsAre(Pair("t/__HIVE_DEFAULT_PARTITION__/00000-00000000000000000001-00000000000000000001.jsonl",
                               "{\"n\":2}\n"),
                          Pair("t/eu%2F1/00000-00000000000000000000-00000000000000000003.jsonl",
                               "{\"user\":{\"region\":\"eu/1\"},\"n\":1}\n{\"user\":{\"region\":\"eu/1\"},\"n\":4}\n"),
                          Pair("t/us/00000-00000000000000000002-00000000000000000002.jsonl",
                               "{\"user\":{\"region\":\"us\"},\"n\":3}\n")));
  std::filesystem::remove_all(folder.path() / "out");
  const Ended refused = millrace({"run", pipeline(sink + "on_missing_field: fail\n"), "--reset", "--yes"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("the record names no key: {field.user.region}"));
  std::filesystem::remove_all(folder.path() / "out");  // what came before the bad record was written
  const std::string skip = "decode: {json: {on_error: skip}}\n";
  const Ended skipped = millrace({"run", pipeline(sink + "on_missing_field: fail\n", skip), "--reset", "--yes"});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_EQ(folder.files("out").size(), 2U);
}

TEST_F(SinkProgram, L04_TyposOfTheTemplateAreRefusedWithTheirPlace) {
  for (const auto& [wrong, said] : std::map<std::string, std::string>{
           {"{strem}/{topic}", "at character 1: unknown placeholder {strem}; did you mean {stream}?"},
           {"{topic}/{date", "at character 9: a '{' without its counterpart"},
           {"{topic}/{{date}}", "at character 9: a '{' without its counterpart"},
           {"{topic}/{hour:99}", "at character 9: unknown placeholder {hour:99}"},
           {"{topic}/{feild.x}", "did you mean {field.x}?"}}) {
    const Ended ended = millrace({"validate", pipeline("path_template: \"" + wrong + "\"\n")});
    EXPECT_EQ(ended.code, 2) << wrong;
    EXPECT_THAT(ended.err, HasSubstr("sink.s3.path_template: ")) << wrong;
    EXPECT_THAT(ended.err, HasSubstr(said)) << wrong;
  }
  EXPECT_THAT(millrace({"validate", pipeline("path_template: \"{topik}\"\n")}).err,
              HasSubstr("known are {stream} {topic} {partition}"));
}

// Two runs of one hour and one name: the second finds its own bytes, or says whose key it is; nothing is overwritten.
TEST_F(SinkProgram, K12_NothingIsEverOverwritten) {
  folder.write("in/a.ndjson", "{\"n\":1}\n");
  const std::string file = pipeline("wrap: false\npath_template: \"{topic}\"\n");
  ASSERT_EQ(millrace({"run", file}).code, 0);
  ASSERT_EQ(millrace({"run", file, "--reset", "--yes"}).code, 0) << "the same bytes are a replay";
  folder.write("in/a.ndjson", "{\"n\":2}\n");
  const Ended other = millrace({"run", file, "--reset", "--yes"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("nothing was overwritten"));
  EXPECT_THAT(folder.files("out"), ElementsAre(Pair(HasSubstr("t/00000-"), "{\"n\":1}\n")));
  EXPECT_EQ(millrace({"run", pipeline("path_template: \"{date}/{hour}\"\n")}).code, 2);
  const Ended seed =
      millrace({"run", pipeline("compat: iggy\nwrap: false\npath_template: \"{topic}\"\n"), "--reset", "--yes"});
  EXPECT_EQ(seed.code, 0) << seed.err;
  EXPECT_THAT(folder.files("out"), ElementsAre(Pair(HasSubstr("t/00000-"), "{\"n\":2}\n"))) << "as it is asked for";
}

TEST_F(SinkProgram, ExplainTellsTheKeysOfARun) {
  folder.write("in/a.ndjson", "{\"type\":\"x\"}\n{\"type\":\"y\"}\n{}\n");
  const std::string file = pipeline("wrap: false\npath_template: \"{topic}/{field.type}\"\n");
  const Ended told =
      millrace({"explain", file, "--records", (folder.path() / "in/a.ndjson").string(), "--format", "json"});
  ASSERT_EQ(told.code, 0) << told.err;
  const auto json = nlohmann::json::parse(told.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << told.out;
  std::vector<std::string> explained;
  for (const auto& group : json["records"]) explained.push_back(std::string(group["key"]));
  ASSERT_EQ(explained.size(), 3U) << told.out;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out")) << "it opens nothing";
  ASSERT_EQ(millrace({"run", file}).code, 0);
  // All but the offsets, which explain makes up.
  std::vector<std::string> written;
  for (const auto& [name, body] : folder.files("out")) written.push_back((folder.path() / "out" / name).string());
  ASSERT_EQ(written.size(), 3U);
  for (const std::string& key : explained) {
    const std::string front = key.substr(0, key.rfind('/'));
    EXPECT_TRUE(std::ranges::any_of(written, [&](const std::string& path) {
      return path.find(front + "/") != std::string::npos;
    })) << key;
  }
  EXPECT_EQ(json["fallbacks"]["missing_field"], 1);
  const Ended text = millrace({"explain", file});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("can two files have one key?"));
  const Ended nowhere = millrace({"explain", file, "--records", "/nowhere"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("/nowhere cannot be opened: No such file or directory"));
  const std::string strict = pipeline("path_template: \"{topic}/{field.type}\"\non_missing_field: fail\n");
  EXPECT_EQ(millrace({"explain", strict, "--records", (folder.path() / "in/a.ndjson").string()}).code, 1);
}

// A line of a file is looked into as it is; where a run looks into something else, explain does not guess.
TEST_F(SinkProgram, ExplainRefusesASampleThatIsNotWhatARunLooksInto) {
  folder.write("in/a.ndjson", "{\"type\":\"x\"}\n");
  const auto explained = [&](const std::string& pattern, const std::string& decode) {
    return millrace({"explain", pipeline("path_template: \"" + pattern + "\"\n", "decode: " + decode + "\n"),
                     "--records", (folder.path() / "in/a.ndjson").string()});
  };
  for (const auto& [decode, why] :
       std::map<std::string, std::string>{{"{text: {}}", "decode.text"}, {"{json: {framing: array}}", "of an array"}}) {
    const Ended ended = explained("{topic}/{field.type}", decode);
    EXPECT_EQ(ended.code, 2) << decode;
    EXPECT_THAT(ended.err, HasSubstr("--records: ")) << decode;
    EXPECT_THAT(ended.err, HasSubstr(why)) << decode;
    EXPECT_EQ(explained("{topic}/{key}", decode).code, 0) << "no field is looked for";
  }
  for (const char* decode : {"{raw: {}}", "{json: {}}", "{json: {framing: lines}}"}) {
    EXPECT_EQ(explained("{topic}/{field.type}", decode).code, 0) << decode;
  }
  const std::string rows =
      folder.write("rows.yaml", fmt::format("source: {{s3: {{url: {}, format: csv, checkpoint: {{url: {}}}}}}}\n"
                                            "sink: {{s3: {{url: {}, path_template: \"{{topic}}/{{field.type}}\"}}}}\n",
                                            folder.url("in/"), folder.url("ck/rows.json"), folder.url("out/")));
  const Ended ended = millrace({"explain", rows, "--records", (folder.path() / "in/a.ndjson").string()});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("decode.csv"));
  EXPECT_EQ(millrace({"explain", rows}).code, 0);
}

}  // namespace
}  // namespace millrace::cli_test
