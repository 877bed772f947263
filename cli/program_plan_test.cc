// SPDX-License-Identifier: Apache-2.0
// Goal: `millrace plan` says what `millrace run` then does, and leaves everything as it is. Method: the built program
// over files; plan, run, plan again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

struct Plan : ::testing::Test {
  [[nodiscard]] std::string pipeline(int lanes = 2, const std::string& more = "") const {
    return folder.write("p.yaml",
                        fmt::format("pipeline: {{name: copy}}\n"
                                    "source:\n"
                                    "  s3:\n"
                                    "    url: {}\n"
                                    "    lanes: {}\n"
                                    "    checkpoint: {{url: {}}}\n"
                                    "{}"
                                    "sink:\n"
                                    "  s3: {{url: {}, output_format: raw, delimiter: \"\\n\"}}\n",
                                    folder.url("in/"), lanes, folder.url("ck/m.json"), more, folder.url("out/")));
  }
  void fill() const {
    for (const char* name : {"a", "b", "c"}) folder.write(fmt::format("in/{}.ndjson", name), "1\n2\n3\n");
  }
  /// Every file and folder, hidden ones too, with its time of change.
  [[nodiscard]] std::map<std::string, std::filesystem::file_time_type> everything() const {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      all[entry.path().string()] = entry.last_write_time();
    }
    return all;
  }
  /// `plan --format json`, which has to end with `code`.
  static Json planned(const std::vector<std::string>& arguments, int code) {
    std::vector<std::string> all{"plan"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--format", "json"});
    const Ended ended = millrace(all);
    EXPECT_EQ(ended.code, code) << ended.out << ended.err;
    Json document = Json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << ended.out << ended.err;
    return document;
  }
  ScratchFolder folder;
};

TEST_F(Plan, BeforeAndAfterARun) {
  fill();
  const std::string file = pipeline();
  const auto before = everything();
  const Json fresh = planned({file}, 0);
  EXPECT_EQ(everything(), before) << "nothing is written";
  EXPECT_EQ(fresh["objects"], 3);
  EXPECT_EQ(fresh["bytes"], 18);
  EXPECT_EQ(fresh["codecs"]["none"]["objects"], 3);
  EXPECT_EQ(fresh["lanes"]["objects"]["most"], 2);
  EXPECT_EQ(fresh["requests"]["reads"], 3);
  EXPECT_EQ(fresh["requests"]["saves_per_minute"], 12);
  EXPECT_EQ(fresh["run"]["state"], "fresh");
  std::uint64_t memory = 0;
  for (const Json& part : fresh["memory"]["parts"]) memory += part["bytes"].get<std::uint64_t>();
  EXPECT_EQ(fresh["memory"]["bytes"], memory);
  EXPECT_EQ(fresh["rights"].back()["action"], "write");

  ASSERT_EQ(millrace({"run", file}).code, 0);
  const auto after = everything();
  const Json done = planned({file}, 0);
  EXPECT_EQ(done["run"]["state"], "finished");
  EXPECT_EQ(done["requests"]["reads"], 0);
  EXPECT_EQ(everything(), after);
  folder.write("in/d.ndjson", "4\n");
  const Json more = planned({file}, 0);
  EXPECT_EQ(more["run"]["state"], "resume");
  EXPECT_EQ(more["run"]["left"]["objects"], 1);
  EXPECT_EQ(more["requests"]["reads"], 1);
}

TEST_F(Plan, ARefusalHasTheWordsOfARun) {
  fill();
  ASSERT_EQ(millrace({"run", pipeline()}).code, 0);
  const std::string other = pipeline(/*lanes=*/3);
  const Json refused = planned({other}, 1);
  EXPECT_EQ(refused["run"]["state"], "refused");
  const std::string error = refused["run"]["error"];
  EXPECT_THAT(error, HasSubstr("lanes was 2 and is 3 now"));
  const Ended run = millrace({"run", other});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(error));
  const Ended text = millrace({"plan", other});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("would fail: " + error));
}

TEST_F(Plan, ASampleIsTakenOnRequest) {
  fill();
  folder.write("in/d.gz", "not gzip\n");
  const std::string file = pipeline();
  EXPECT_EQ(planned({file}, 0)["codecs"]["gzip"]["objects"], 1) << "that is what its name says";
  const Json sniffed = planned({file, "--sniff"}, 1);
  EXPECT_EQ(sniffed["sample"]["objects"][0]["records"], 3);
  const std::string problem = sniffed["sample"]["objects"][3]["problem"];
  const Ended run = millrace({"run", file});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(problem));
}

TEST_F(Plan, TakesWhatRunTakes) {
  fill();
  const Ended copy = millrace({"plan", "--from", folder.url("in/"), "--to", "-", "--set", "source.s3.lanes=1"});
  EXPECT_EQ(copy.code, 0) << copy.err;
  EXPECT_THAT(copy.out, StartsWith(folder.url("in/") + "\n  objects    3\n"));
  EXPECT_THAT(copy.out, HasSubstr("  lanes      1: 3 objects each, 18 B\n"));
  EXPECT_THAT(copy.out, HasSubstr("begins from the beginning; its position goes with it"));
  EXPECT_THAT(copy.out, Not(HasSubstr("manifest.json"))) << "which would be gone with this very process";
  const Ended nowhere = millrace({"plan", folder.write("q.yaml", "source: {s3: {}}\n")});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(millrace({"plan"}).code, 2);
  const Ended missing = millrace({"plan", "--from", folder.url("none/"), "--to", folder.url("out/")});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, StartsWith("error: "));
}

}  // namespace
}  // namespace millrace::cli_test
