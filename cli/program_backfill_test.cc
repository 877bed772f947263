// SPDX-License-Identifier: Apache-2.0
// Goal: what one asks about a backfill from outside, and what several processes do on one prefix. Method: the built
// program over files; the expected objects and records are those that were written there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Backfill : ::testing::Test {
  [[nodiscard]] std::string pipeline(const std::string& source_more = "") const {
    return folder.write("p.yaml",
                        fmt::format("pipeline: {{name: copy}}\n"
                                    "source:\n"
                                    "  s3:\n"
                                    "    url: {}\n"
                                    "    lanes: 2\n"
                                    "    checkpoint: {{url: {}}}\n"
                                    "{}"
                                    "sink:\n"
                                    "  s3: {{url: {}, output_format: raw, delimiter: \"\\n\"}}\n",
                                    folder.url("in/"), folder.url("ck/m.json"), source_more, folder.url("out/")));
  }
  static std::vector<Json> json_lines(const std::string& text) {
    std::vector<Json> all;
    for (const std::string& line : lines_of(text)) {
      all.push_back(Json::parse(line, nullptr, false));
      EXPECT_FALSE(all.back().is_discarded()) << line;
    }
    return all;
  }
  ScratchFolder folder;
};

TEST_F(Backfill, DriftIsReportedObjectByObject) {
  for (const char* name : {"a", "b", "c"}) folder.write(fmt::format("in/{}.ndjson", name), "1\n2\n");
  const std::string file = pipeline();
  const Ended none = millrace({"status", file, "--drift"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no manifest"));
  ASSERT_EQ(millrace({"run", file}).code, 0);
  const std::map<std::string, std::string> before = folder.files("ck");

  const Ended same = millrace({"status", file, "--drift"});
  EXPECT_EQ(same.code, 0) << same.err;
  const Json total{{"manifest", folder.url("ck/m.json")}, {"added", 0}, {"removed", 0}, {"changed", 0}};
  const auto nothing = json_lines(same.out);
  ASSERT_EQ(nothing.size(), 1U);
  EXPECT_EQ(nothing[0]["total"], total);

  folder.write("in/a.ndjson", "1\n2\n3\n");
  std::filesystem::remove(folder.path() / "in/b.ndjson");
  folder.write("in/d.ndjson", "4\n");
  const Ended run = millrace({"run", file});
  EXPECT_EQ(run.code, 1) << run.err;
  for (const char* part :
       {"1 added ('", "in/d.ndjson' (2 bytes", "1 removed ('", "in/b.ndjson' (4 bytes", "1 changed ('",
        "in/a.ndjson' (was 4 bytes", "; is 6 bytes", "millrace status FILE --drift"}) {
    EXPECT_THAT(run.err, HasSubstr(part));
  }

  const Ended told = millrace({"status", file, "--drift"});
  EXPECT_EQ(told.code, 0) << told.err;
  const auto lines = json_lines(told.out);
  ASSERT_EQ(lines.size(), 4U) << told.out;
  EXPECT_EQ(lines[0]["change"], "changed");
  EXPECT_THAT(lines[0]["key"].get<std::string>(), ::testing::EndsWith("in/a.ndjson"));
  EXPECT_EQ(lines[0]["was"]["size"], 4);
  EXPECT_EQ(lines[0]["is"]["size"], 6);
  EXPECT_NE(lines[0]["was"]["etag"], lines[0]["is"]["etag"]);
  EXPECT_TRUE(lines[0]["was"]["modified"].is_string() && lines[0]["is"]["modified"].is_string());
  EXPECT_EQ(lines[1]["change"], "removed");
  EXPECT_FALSE(lines[1].contains("is"));
  EXPECT_EQ(lines[2]["change"], "added");
  EXPECT_FALSE(lines[2].contains("was"));
  EXPECT_EQ(lines[3]["total"]["added"], 1);
  EXPECT_EQ(lines[3]["total"]["removed"], 1);
  EXPECT_EQ(lines[3]["total"]["changed"], 1);
  EXPECT_EQ(folder.files("ck"), before) << "neither of them wrote anything";
}

TEST_F(Backfill, DriftNamesTheShardsThatItHasNothingToCompareWith) {
  for (int i = 0; i < 30; ++i) folder.write(fmt::format("in/{:02}.ndjson", i), "1\n");
  const std::string file = pipeline("    shard: {index: ${JOB_COMPLETION_INDEX:-0}, count: 3}\n");
  ASSERT_EQ(millrace({"run", file}, {{"JOB_COMPLETION_INDEX", "1"}}).code, 0);
  const Ended told = millrace({"status", file, "--drift"});
  EXPECT_EQ(told.code, 0) << told.err;
  const auto lines = json_lines(told.out);
  ASSERT_EQ(lines.size(), 3U) << told.out;
  EXPECT_EQ(lines[0]["total"],
            (Json{{"manifest", folder.url("ck/m.shard-1-of-3.json")}, {"added", 0}, {"removed", 0}, {"changed", 0}}));
  for (const int i : {1, 2}) {
    EXPECT_EQ(lines.at(i)["total"],
              (Json{{"manifest", folder.url(fmt::format("ck/m.shard-{}-of-3.json", i == 1 ? 0 : 2))},
                    {"not_compared", "there is no manifest"}}));
  }
}

TEST_F(Backfill, ThreeShardsTogetherAreTheWholePrefix) {
  constexpr int kObjects = 60;
  std::multiset<std::string> expected;
  for (int i = 0; i < kObjects; ++i) {
    std::string text;
    for (int line = 0; line < 5; ++line) {
      expected.insert(fmt::format("{{\"o\":{},\"l\":{}}}", i, line));
      text += fmt::format("{{\"o\":{},\"l\":{}}}\n", i, line);
    }
    folder.write(fmt::format("in/{:02}.ndjson", i), text);
  }
  const std::string file = pipeline("    shard: {index: ${JOB_COMPLETION_INDEX:-0}, count: 3}\n");
  const auto status = [&] { return millrace({"status", file}).out; };
  EXPECT_THAT(status(), HasSubstr("no manifest of any of 3 shards"));

  std::map<std::string, std::string> before;
  for (const char* index : {"2", "0", "1"}) {
    const Ended ended = millrace({"run", file}, {{"JOB_COMPLETION_INDEX", index}});
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::map<std::string, std::string> after = folder.files("out");
    EXPECT_GT(after.size(), before.size());
    for (const auto& [key, bytes] : before) EXPECT_EQ(after.at(key), bytes) << "another shard's object: " << key;
    before = after;
    if (*index == '2') {
      EXPECT_THAT(status(), HasSubstr("shard 0    nothing was run yet"));
    }
  }
  std::multiset<std::string> written;
  for (const auto& [key, bytes] : before) {
    std::istringstream stream(bytes);
    for (std::string line; std::getline(stream, line);) written.insert(line);
  }
  EXPECT_EQ(written, expected);
  EXPECT_THAT(status(), HasSubstr(fmt::format("{} of {} committed, 0 left", kObjects, kObjects)));
  const Json all = Json::parse(millrace({"status", file, "--format", "json"}).out);
  EXPECT_TRUE(all["complete"].get<bool>() && all["same_listing"].get<bool>());
  EXPECT_EQ(all["shard"].size(), 3U);
  int objects = 0;
  for (const Json& shard : all["shard"]) objects += shard["objects"].get<int>();
  EXPECT_EQ(objects, kObjects);

  // One more object, seen by one shard only.
  folder.write("in/zz.ndjson", "1\n");
  const Ended drift = millrace({"status", file, "--drift"});
  EXPECT_EQ(drift.code, 0) << drift.err;
  const auto lines = json_lines(drift.out);
  EXPECT_EQ(lines.size(), 4U) << "the object, and a last line for each shard";
  int added = 0;
  for (const Json& line : lines) added += line.contains("total") ? line["total"]["added"].get<int>() : 0;
  EXPECT_EQ(added, 1) << drift.out;
  EXPECT_EQ(millrace({"run", file}, {{"JOB_COMPLETION_INDEX", "1"}}).code, 0);
  EXPECT_THAT(status(), HasSubstr("warning   the shards saw different listings: 60 objects"));

  const Ended outside = millrace({"run", file}, {{"JOB_COMPLETION_INDEX", "3"}});
  EXPECT_EQ(outside.code, 2);
  EXPECT_THAT(outside.err, HasSubstr("p.yaml:7:20: source.s3.shard.index: 3 is not in 0 to 2"));
}

}  // namespace
}  // namespace millrace::cli_test
