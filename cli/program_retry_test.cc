// SPDX-License-Identifier: Apache-2.0
// Goal: run with quarantine, mend, retry: every record of every object stands in the output exactly once, and at least
// once when retries are killed. Method: the built program over files that gzip packed; what is expected are the lines
// that were written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

struct RetryOfARun : ::testing::Test {
  ScratchFolder folder;
  int lines = 2'000;

  [[nodiscard]] std::vector<std::string> lines_of_object(int object) const {
    std::vector<std::string> all;
    for (int i = 0; i < lines; ++i) all.push_back(fmt::format("{{\"object\":{},\"line\":{}}}", object, i));
    return all;
  }
  [[nodiscard]] static std::string name(int object) { return fmt::format("o{}.ndjson.gz", object); }
  /// By gzip itself; `bad`: that line is no JSON.
  void put(int object, int bad = -1) const {
    std::string text;
    int line = 0;
    for (const std::string& one : lines_of_object(object)) text += (line++ == bad ? "{" : one) + "\n";
    const std::string plain = folder.write(fmt::format("plain-{}", object), text);
    std::filesystem::create_directories(folder.path() / "in");
    const std::string packed = (folder.path() / "in" / name(object)).string();
    ASSERT_EQ(std::system(
                  fmt::format("gzip -n -c '{}' > '{}.new' && mv '{}.new' '{}'", plain, packed, packed, packed).c_str()),
              0);
  }
  /// The first half of what gzip made.
  void cut(int object) const {
    const std::filesystem::path packed = folder.path() / "in" / name(object);
    std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  }
  [[nodiscard]] std::string pipeline(const std::string& more = "") const {
    return folder.write("p.yaml", fmt::format("pipeline: {{name: copy}}\n"
                                              "checkpoint: {{interval: 100ms}}\n"
                                              "source: {{s3: {{url: {}, lanes: 2, on_object_error: quarantine, "
                                              "checkpoint: {{url: {}}}}}}}\n"
                                              "decode: {{json: {{on_error: fail}}}}\n"
                                              "sink: {{s3: {{url: {}, output_format: raw, delimiter: \"\\n\", "
                                              "max_file_size: 64KiB}}}}\n{}",
                                              folder.url("in/"), folder.url("ck/m.json"), folder.url("out/"), more));
  }
  /// Every line of the output, sorted.
  [[nodiscard]] std::vector<std::string> output() const {
    std::vector<std::string> all;
    for (const auto& [file, text] : folder.files("out")) {
      for (const std::string& line : millrace::cli_test::lines_of(text)) all.push_back(line);
    }
    std::ranges::sort(all);
    return all;
  }
  [[nodiscard]] std::vector<std::string> everything(int objects) const {
    std::vector<std::string> all;
    for (int object = 0; object < objects; ++object) {
      for (std::string& line : lines_of_object(object)) all.push_back(std::move(line));
    }
    std::ranges::sort(all);
    return all;
  }
  [[nodiscard]] Json manifest() const { return Json::parse(folder.files("ck").at("m.json")); }
  [[nodiscard]] std::uint64_t aside() const {
    const Json now = manifest();
    return now.contains("quarantined") ? now["quarantined"].size() : 0;
  }
  [[nodiscard]] std::uint64_t generation() const {
    const auto files = folder.files("ck");
    const auto found = files.find("m.json");
    const Json now = found == files.end() ? Json() : Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    return now.is_object() ? now["generation"].get<std::uint64_t>() : 0;
  }
  void kill_retries(const std::string& file, int times) const {
    for (int kill = 0; kill < times; ++kill) {
      const std::uint64_t before = generation();
      Child child({"run", file, "--retry-quarantined"});
      // Behind its claim, and further each time.
      EXPECT_TRUE(
          eventually([&] { return generation() > before + static_cast<std::uint64_t>(kill % 4) || aside() == 0; }));
      child.signal(SIGKILL);
      std::ignore = child.wait();
    }
  }
};

TEST_F(RetryOfARun, INV1_RunMendAndRetryIsEveryRecordOnce) {
  for (int object = 0; object < 6; ++object) put(object, object == 4 ? 700 : -1);
  cut(2);
  const std::string file = pipeline();
  const Ended run = millrace({"run", file});
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--retry-quarantined"));
  EXPECT_EQ(aside(), 2U);
  const std::vector<std::string> first = output();
  EXPECT_LT(first.size(), everything(6).size());

  const Ended again = millrace({"run", file});
  EXPECT_EQ(again.code, 4) << again.err;
  EXPECT_THAT(again.err, HasSubstr("nothing was left to do"));
  const Ended unmended = millrace({"run", file, "--retry-quarantined"});
  EXPECT_EQ(unmended.code, 4) << unmended.err;
  EXPECT_EQ(aside(), 2U);
  EXPECT_EQ(output(), first) << "nothing comes twice";

  put(2);
  put(4);
  const Ended mended = millrace({"run", file, "--retry-quarantined"});
  EXPECT_EQ(mended.code, 0) << mended.err;
  EXPECT_EQ(output(), everything(6));
  EXPECT_EQ(aside(), 0U);
  const Ended last = millrace({"run", file});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_THAT(last.err, HasSubstr("nothing was left to do"));
  EXPECT_EQ(millrace({"run", file, "--retry-quarantined"}).code, 0);
  EXPECT_EQ(output(), everything(6));
}

TEST_F(RetryOfARun, AnObjectThatBeginsOtherwiseStaysAndSaysSo) {
  put(0, 700);
  const std::string file = pipeline();
  ASSERT_EQ(millrace({"run", file}).code, 4);
  const std::vector<std::string> first = output();
  ASSERT_THAT(first, SizeIs(700));
  put(0, 3);
  const Ended retry = millrace({"run", file, "--retry-quarantined"});
  EXPECT_EQ(retry.code, 4) << retry.err;
  EXPECT_THAT(retry.err, HasSubstr("its first 700 records, which are written already, are others now"));
  EXPECT_THAT(manifest()["quarantined"][0]["reason"].get<std::string>(), HasSubstr("are others now"));
  EXPECT_EQ(output(), first);
  put(0);
  EXPECT_EQ(millrace({"run", file, "--retry-quarantined"}).code, 0);
  EXPECT_EQ(output(), everything(1));
}

// Quarantine came from the command line, and the file says nothing of it.
TEST_F(RetryOfARun, WhatFailsAgainStaysWhateverTheFileSays) {
  put(0, 700);
  const std::string file = pipeline();
  ASSERT_EQ(millrace({"run", file}).code, 4);
  const Ended retry = millrace({"run", file, "--retry-quarantined", "--set", "source.s3.on_object_error=fail"});
  EXPECT_EQ(retry.code, 4) << retry.err;
  EXPECT_EQ(aside(), 1U);
  put(0);
  EXPECT_EQ(millrace({"run", file, "--retry-quarantined", "--set", "source.s3.on_object_error=fail"}).code, 0);
  EXPECT_EQ(output(), everything(1));
}

TEST_F(RetryOfARun, INV1_TenKillsLoseNothing) {
  lines = 40'000;
  for (int object = 0; object < 6; ++object) put(object, object % 2 == 0 ? 100 : -1);
  const std::string file = pipeline();
  ASSERT_EQ(millrace({"run", file}).code, 4);
  for (int object = 0; object < 6; object += 2) put(object);
  kill_retries(file, 10);
  const Ended last = millrace({"run", file, "--retry-quarantined"});
  EXPECT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(aside(), 0U);
  const std::vector<std::string> all = output();
  const std::set<std::string> once(all.begin(), all.end());
  EXPECT_EQ(std::vector<std::string>(once.begin(), once.end()), everything(6));
}

TEST_F(RetryOfARun, INV6_TheReceiptHasEachRecordOnceHoweverOftenTheRetryIsKilled) {
  lines = 40'000;
  for (int object = 0; object < 6; ++object) put(object, object % 2 == 0 ? 100 : -1);
  const std::string file = pipeline("receipt: {url: " + folder.url("receipts/r.ndjson") + "}\n");
  ASSERT_EQ(millrace({"run", file}).code, 4);
  const Ended gaps = millrace({"verify", file});
  EXPECT_EQ(gaps.code, 1);
  EXPECT_THAT(gaps.out, HasSubstr("GAPS       3\n"));
  // One is mended, one fails further on, one stays as it is.
  put(0);
  put(2, 9'000);
  const Ended second = millrace({"run", file, "--retry-quarantined"});
  ASSERT_EQ(second.code, 4) << second.err;
  EXPECT_EQ(aside(), 2U);
  EXPECT_EQ(millrace({"verify", file}).code, 1);
  put(2);
  put(4);
  kill_retries(file, 6);
  // A run that retries nothing leaves what a killed retry was at.
  const int open = aside() > 0 ? 4 : 0;
  EXPECT_EQ(millrace({"run", file}).code, open);
  kill_retries(file, 2);
  const Ended last = millrace({"run", file, "--retry-quarantined"});
  EXPECT_EQ(last.code, 0) << last.err;
  const Ended verified = millrace({"verify", file});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("240000 read: 240000 out"));
  for (const std::string& line : millrace::cli_test::lines_of(folder.files("receipts").at("r.ndjson"))) {
    const Json one = Json::parse(line);
    if (!one.contains("object")) continue;
    EXPECT_EQ(one["records"], lines) << line;
    EXPECT_EQ(one["out"], lines) << line;
  }
  for (const auto& [name, text] : folder.files("ck")) EXPECT_THAT(name, Not(HasSubstr("receipt")));
  const std::vector<std::string> all = output();
  const std::set<std::string> once(all.begin(), all.end());
  EXPECT_EQ(std::vector<std::string>(once.begin(), once.end()), everything(6));
  EXPECT_EQ(millrace({"run", file}).code, 0);
}

}  // namespace
}  // namespace millrace::cli_test
