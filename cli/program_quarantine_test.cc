// SPDX-License-Identifier: Apache-2.0
// Goal: under on_object_error: quarantine bad objects cost themselves and nothing else, the same way on each run and
// after any crash. Method: the built program over files; what is expected was counted while they were written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Quarantining : ::testing::Test {
  ScratchFolder folder;

  [[nodiscard]] std::string pipeline(const std::string& source_more = ", on_object_error: quarantine") const {
    return folder.write("p.yaml", fmt::format("pipeline: {{name: copy}}\n"
                                              "checkpoint: {{interval: 100ms}}\n"
                                              "source: {{s3: {{url: {}, lanes: 2, checkpoint: {{url: {}}}{}}}}}\n"
                                              "decode: {{json: {{}}}}\n"
                                              "sink: {{s3: {{url: {}, output_format: raw, delimiter: \"\\n\", "
                                              "max_file_size: 64KiB}}}}\n"
                                              "receipt: {{url: {}}}\n",
                                              folder.url("in/"), folder.url("ck/m.json"), source_more,
                                              folder.url("out/"), folder.url("receipts/r.ndjson")));
  }
  static std::string line(const std::string& object, int number) {
    return fmt::format("{{\"object\":\"{}\",\"n\":{}}}", object, number);
  }
  static std::string lines(const std::string& object, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(object, i) + "\n";
    return text;
  }
  std::string gzip_of(const std::string& text) const {
    const std::string plain = folder.write("scratch/plain", text);
    EXPECT_EQ(std::system(fmt::format("gzip -n -c {0} > {0}.gz", plain).c_str()), 0);
    return folder.files("scratch").at("plain.gz");
  }
  /// How many of each line came out.
  [[nodiscard]] std::map<std::string, int> written() const {
    std::map<std::string, int> all;
    for (const auto& [name, text] : folder.files("out")) {
      for (const std::string& one : lines_of(text)) ++all[one];
    }
    return all;
  }
  [[nodiscard]] Json manifest() const { return Json::parse(folder.files("ck").at("m.json")); }
  static std::string line_with(const std::string& text, const std::string& part) {
    for (const std::string& one : lines_of(text)) {
      if (one.find(part) != std::string::npos) return one;
    }
    return "";
  }
};

TEST_F(Quarantining, D05_APoisonObjectIsSetAsideTheSameWayEachTime) {
  constexpr int kLines = 2000;
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    const std::string whole = gzip_of(lines(std::string(1, name), kLines));
    folder.write(fmt::format("in/{}.ndjson.gz", name), name == 'c' ? whole.substr(0, whole.size() / 2) : whole);
  }
  const std::string file = pipeline();
  std::string told;
  std::string named;
  for (int run = 0; run < 4; ++run) {
    const Ended ended = millrace({"run", file});
    ASSERT_EQ(ended.code, 4) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("CompletedWithErrors after "));
    EXPECT_THAT(ended.err, HasSubstr("  next       mend or replace them, then: millrace run "));
    EXPECT_EQ(ended.err.find("nothing was left to do") != std::string::npos, run > 0) << ended.err;
    const std::string aside = line_with(ended.err, "  set aside  1 object could not be read");
    EXPECT_FALSE(aside.empty()) << ended.err;
    const Ended status = millrace({"status", file});
    EXPECT_EQ(status.code, 0);
    const std::string reason = line_with(status.out, "in/c.ndjson.gz', ");
    EXPECT_THAT(reason, HasSubstr("(truncated): object 'file://")) << status.out;
    if (run > 0) {
      EXPECT_EQ(aside, told);
      EXPECT_EQ(reason, named);
    }
    told = aside;
    named = reason;
  }
  const Json aside = manifest()["quarantined"];
  ASSERT_EQ(aside.size(), 1U);
  const int delivered = aside[0]["records"].get<int>();
  EXPECT_GT(delivered, 0);
  EXPECT_LT(delivered, kLines);
  std::map<std::string, int> expected;
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    for (int i = 0; i < (name == 'c' ? delivered : kLines); ++i) expected[line(std::string(1, name), i)] = 1;
  }
  EXPECT_EQ(written(), expected);

  const Json status = Json::parse(millrace({"status", file, "--format", "json"}).out);
  EXPECT_EQ(status["objects_quarantined"], 1);
  EXPECT_EQ(status["quarantined"][0]["records"], delivered);
  const auto receipt = lines_of(folder.files("receipts").at("r.ndjson"));
  ASSERT_EQ(receipt.size(), 7U);
  const Json total = Json::parse(receipt.back());
  EXPECT_EQ(total["objects"], Json::parse(R"({"listed":6,"read":5,"empty":0,"left_out":0,"quarantined":1})"));
  EXPECT_EQ(total["records"], 5 * kLines + delivered);
  EXPECT_EQ(total["out"], 5 * kLines + delivered);
  const Ended verified = millrace({"verify", file});
  EXPECT_EQ(verified.code, 1);
  EXPECT_THAT(verified.out, HasSubstr("GAPS       1\n"));
  EXPECT_THAT(verified.out, HasSubstr(fmt::format("in/c.ndjson.gz' was set aside (truncated): {} of its", delivered)));
}

TEST_F(Quarantining, D05_TheDefaultIsToStopTheSameWayEachTime) {
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    const std::string whole = gzip_of(lines(std::string(1, name), 200));
    folder.write(fmt::format("in/{}.ndjson.gz", name), name == 'c' ? whole.substr(0, whole.size() / 2) : whole);
  }
  const std::string file = pipeline("");
  for (int run = 0; run < 4; ++run) {
    const Ended ended = millrace({"run", file});
    EXPECT_EQ(ended.code, 1) << ended.err;
    for (const char* part :
         {"in/c.ndjson.gz' (gzip)", "truncated: it ends after", "stored_offset=", "records_before="}) {
      EXPECT_THAT(ended.err, HasSubstr(part));
    }
    EXPECT_FALSE(manifest().contains("quarantined"));
  }
}

// Every third object has a line that is no JSON at a place of its own. Killed again and again: no record is lost, and
// no object is forgotten.
TEST_F(Quarantining, INV1_KillsLoseNoRecordAndForgetNoObject) {
  constexpr int kObjects = 18;
  constexpr int kLines = 4000;
  std::set<std::string> expected;
  std::map<std::string, int> bad;  // records before the fault, by key
  for (int i = 0; i < kObjects; ++i) {
    const std::string name = fmt::format("{:02}", i);
    const int fault = i % 3 == 1 ? (i * 211) % kLines : kLines;
    std::string text = lines(name, fault);
    if (fault < kLines) text += "{\n" + line(name, fault) + "\n";
    const std::string path = folder.write("in/" + name + ".ndjson", text);
    if (fault < kLines) bad[path.substr(1)] = fault;
    for (int n = 0; n < fault; ++n) expected.insert(line(name, n));
  }
  const std::string file = pipeline();
  const auto generation = [&]() -> std::uint64_t {
    const auto files = folder.files("ck");
    const auto found = files.find("m.json");
    return found == files.end() ? 0 : Json::parse(found->second, nullptr, false).value("generation", 0U);
  };
  for (int kills = 0; kills < 12; ++kills) {
    Child child({"run", file});
    const std::uint64_t wanted = generation() + 1 + static_cast<std::uint64_t>(kills % 3);
    EXPECT_TRUE(eventually(
        [&] { return generation() >= wanted || child.err().find("CompletedWithErrors") != std::string::npos; }));
    child.signal(SIGKILL);
    std::ignore = child.wait();
  }
  const Ended ended = millrace({"run", file});
  ASSERT_EQ(ended.code, 4) << ended.err;
  std::set<std::string> got;
  for (const auto& [one, times] : written()) got.insert(one);
  EXPECT_EQ(got.size(), expected.size());
  EXPECT_TRUE(got == expected);
  std::map<std::string, int> named;
  const Json kept = manifest();
  for (const Json& aside : kept["quarantined"]) named[aside["key"]] = aside["records"];
  EXPECT_EQ(named, bad);
  const Json total = Json::parse(lines_of(folder.files("receipts").at("r.ndjson")).back());
  EXPECT_EQ(total["records"], expected.size());
  EXPECT_EQ(total["objects"]["quarantined"], bad.size());
}

}  // namespace
}  // namespace millrace::cli_test
