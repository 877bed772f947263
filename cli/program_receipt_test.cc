// SPDX-License-Identifier: Apache-2.0
// Goal: the receipt of a backfill says of every object what is true of it, however often the run was killed, and verify
// believes no other. Method: the built program over files; what is expected was counted while they were written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct ReceiptOfARun : ::testing::Test {
  struct Expected {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    std::uint64_t bad = 0;
    std::string xxh3;
  };
  ScratchFolder folder;
  std::map<std::string, Expected> expected;  // by key

  // Every seventh line is no JSON.
  void write(const std::string& name, int lines) {
    std::string text;
    Expected one;
    for (int i = 0; i < lines; ++i) {
      const bool bad = i % 7 == 3;
      text += bad ? "{\n" : fmt::format("{{\"n\":{},\"name\":\"{}\"}}\n", i, name);
      one.bad += bad ? 1 : 0;
    }
    one.bytes = text.size();
    one.records = static_cast<std::uint64_t>(lines);
    one.xxh3 = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
    expected[folder.write("in/" + name, text).substr(1)] = one;
  }
  [[nodiscard]] std::string pipeline(const std::string& more = "") const {
    return folder.write("p.yaml", fmt::format("pipeline: {{name: copy}}\n"
                                              "checkpoint: {{interval: 100ms}}\n"
                                              "source: {{s3: {{url: {}, lanes: 2, checkpoint: {{url: {}}}}}}}\n"
                                              "decode: {{json: {{on_error: skip}}}}\n"
                                              "sink: {{s3: {{url: {}, output_format: raw, delimiter: \"\\n\", "
                                              "max_file_size: 256KiB}}}}\n"
                                              "receipt: {{url: {}}}\n{}",
                                              folder.url("in/"), folder.url("ck/m.json"), folder.url("out/"),
                                              folder.url("receipts/r.ndjson"), more));
  }
  [[nodiscard]] std::vector<Json> receipt() const {
    std::vector<Json> all;
    for (const std::string& line : lines_of(folder.files("receipts").at("r.ndjson"))) all.push_back(Json::parse(line));
    return all;
  }
  void expect_true_receipt() const {
    std::vector<Json> lines = receipt();
    ASSERT_EQ(lines.size(), expected.size() + 1);
    Json total = lines.back();
    lines.pop_back();
    std::uint64_t records = 0;
    std::uint64_t bad = 0;
    for (const Json& line : lines) {
      const auto found = expected.find(line["object"].get<std::string>());
      ASSERT_NE(found, expected.end()) << line;
      const Expected& one = found->second;
      EXPECT_EQ(line["size"], one.bytes);
      if (one.bytes == 0) {
        EXPECT_FALSE(line.contains("records"));
        continue;
      }
      EXPECT_EQ(line["stored"], one.bytes);
      EXPECT_EQ(line["decoded"], one.bytes);
      EXPECT_EQ(line["xxh3"], one.xxh3);
      EXPECT_EQ(line["records"], one.records) << line;
      EXPECT_EQ(line["out"], one.records - one.bad) << line;
      EXPECT_EQ(line["skipped"], (Json{{"malformed", one.bad}})) << line;
      EXPECT_FALSE(line["sinks"].empty());
      for (const Json& place : line["sinks"]) {
        EXPECT_TRUE(std::filesystem::exists(place["to"].get<std::string>().substr(7))) << place;
      }
      records += one.records;
      bad += one.bad;
    }
    EXPECT_EQ(total["records"], records);
    EXPECT_EQ(total["out"], records - bad);
    EXPECT_EQ(total["skipped"], (Json{{"malformed", bad}}));
    EXPECT_EQ(total["objects"]["listed"], expected.size());
  }
  void expect_no_parts() const {
    for (const auto& [name, text] : folder.files("ck")) EXPECT_THAT(name, Not(HasSubstr("receipt")));
  }
};

TEST_F(ReceiptOfARun, INV6_SaysOfEveryObjectWhatIsTrueHoweverOftenItIsKilled) {
  for (int i = 0; i < 5; ++i) write(fmt::format("part-{}.ndjson", i), 60'000 + 1'000 * i);
  write("empty.ndjson", 0);
  const std::string file = pipeline();
  const auto generation = [&]() -> std::uint64_t {
    const auto files = folder.files("ck");
    const auto found = files.find("m.json");
    return found == files.end() ? 0 : Json::parse(found->second, nullptr, false).value("generation", 0U);
  };
  for (int kills = 0; kills < 6; ++kills) {
    Child child({"run", file});
    const std::uint64_t before = generation();
    // Behind the claim and a commit or two; a run that ends first is as good.
    const std::uint64_t wanted = before + 2 + static_cast<std::uint64_t>(kills % 2);
    EXPECT_TRUE(
        eventually([&] { return generation() >= wanted || child.err().find("Completed") != std::string::npos; }));
    child.signal(SIGKILL);
    std::ignore = child.wait();
  }
  const Ended ended = millrace({"run", file});
  ASSERT_EQ(ended.code, 0) << ended.err;
  expect_true_receipt();
  // One that was killed when all was done but the removal of the parts leaves them.
  if (ended.err.find("nothing was left to do") == std::string::npos) expect_no_parts();
  const Ended verified = millrace({"verify", file});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("every object is accounted for"));
}

TEST_F(ReceiptOfARun, VerifyFindsEachKindOfGap) {
  write("a.ndjson", 70);
  write("b.ndjson", 70);
  const std::string file = pipeline();
  const Ended early = millrace({"verify", file});
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.out, HasSubstr("nothing was run yet"));
  ASSERT_EQ(millrace({"run", file}).code, 0);
  expect_true_receipt();
  expect_no_parts();
  EXPECT_EQ(millrace({"verify", file}).code, 0);

  const std::string whole = folder.files("receipts").at("r.ndjson");
  std::string edited = whole;
  edited.replace(edited.find("\"out\":60"), 8, "\"out\":61");
  folder.write("receipts/r.ndjson", edited);
  const Ended by_hand = millrace({"verify", file});
  EXPECT_EQ(by_hand.code, 1);
  EXPECT_THAT(by_hand.out, HasSubstr("r.ndjson, is damaged or not this backfill's"));
  folder.write("receipts/r.ndjson", whole);

  const std::string added = folder.write("in/c.ndjson", "1\n");
  const Ended unread = millrace({"verify", file, "--format", "json"});
  EXPECT_EQ(unread.code, 1);
  const Json verdict = Json::parse(unread.out);
  EXPECT_EQ(verdict["verified"], false);
  EXPECT_EQ(verdict["gaps"]["count"], 1);
  EXPECT_THAT(verdict["gaps"]["first"][0].get<std::string>(), HasSubstr("in/c.ndjson' is listed, and was not read"));
  // Another run reads it, and the receipt goes on.
  expected[added.substr(1)] = {.bytes = 2, .records = 1, .xxh3 = fmt::format("{:016x}", XXH3_64bits("1\n", 2))};
  ASSERT_EQ(millrace({"run", file}).code, 0);
  EXPECT_EQ(receipt().size(), 4U);
  EXPECT_EQ(millrace({"verify", file}).code, 0);

  folder.write("in/b.ndjson", "2\n");
  const Ended changed = millrace({"verify", file});
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(changed.out, HasSubstr("in/b.ndjson' has changed since it was read"));
}

TEST_F(ReceiptOfARun, IsAskedForFromTheBeginningToTheEnd) {
  write("a.ndjson", 70);
  const std::string with = pipeline();
  std::string text = folder.files("").at("p.yaml");
  const std::string without = folder.write("without.yaml", text.substr(0, text.find("receipt:")));
  ASSERT_EQ(millrace({"run", without}).code, 0);
  const Ended late = millrace({"run", with});
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, HasSubstr("no receipt was asked for then"));
  EXPECT_EQ(millrace({"run", with, "--reset", "--yes"}).code, 0);
  // Complete: nothing is left that a receipt could miss.
  EXPECT_EQ(millrace({"run", without}).code, 0);
  const std::string elsewhere = folder.write("elsewhere.yaml", text.replace(text.find("r.ndjson"), 8, "q.ndjson"));
  const Ended moved = millrace({"run", elsewhere});
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.err, HasSubstr("put the old url back"));
}

TEST_F(ReceiptOfARun, AnEmptyPrefixHasAReceiptToo) {
  folder.write("in/.keep", "");
  ASSERT_EQ(millrace({"run", pipeline()}).code, 0);
  const auto lines = receipt();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["objects"]["listed"], 0);
  EXPECT_EQ(millrace({"verify", pipeline()}).code, 0);
}

TEST_F(ReceiptOfARun, ShardsAreVerifiedTogether) {
  for (int i = 0; i < 7; ++i) write(fmt::format("part-{}.ndjson", i), 70 + i);
  const std::string file = pipeline();
  const auto words = [&](const char* command, int index) {
    return std::vector<std::string>{command, file, "--set",
                                    fmt::format("source.s3.shard={{index: {}, count: 3}}", index)};
  };
  for (const int index : {2, 0}) ASSERT_EQ(millrace(words("run", index)).code, 0);
  const Ended early = millrace(words("verify", 0));
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.out, HasSubstr("shard-1-of-3.json: nothing was run yet"));
  ASSERT_EQ(millrace(words("run", 1)).code, 0);
  const Ended verified = millrace(words("verify", 1));
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("7 listed, 7 read in full"));
  std::size_t lines = 0;
  for (const auto& [name, text] : folder.files("receipts")) {
    EXPECT_THAT(name, HasSubstr("-of-3.ndjson"));
    lines += static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
  EXPECT_EQ(lines, 7U + 3U);  // and three totals
  const std::string one = folder.files("receipts").begin()->first;
  folder.write("receipts/" + one, "");
  EXPECT_EQ(millrace(words("verify", 0)).code, 1);
}

TEST_F(ReceiptOfARun, ShardsThatSawDifferentListingsAreSaid) {
  for (int i = 0; i < 4; ++i) write(fmt::format("part-{}.ndjson", i), 70);
  const std::string file = pipeline("");
  const auto words = [&](const char* command, int index) {
    return std::vector<std::string>{command, file, "--set",
                                    fmt::format("source.s3.shard={{index: {}, count: 2}}", index)};
  };
  const auto verified = [&](bool json) {
    std::vector<std::string> all = words("verify", 0);
    if (json) all.insert(all.end(), {"--format", "json"});
    return millrace(all);
  };
  // An object more, of that shard, behind every committed position.
  const auto add = [&](std::uint64_t shard) {
    for (int i = 0;; ++i) {
      const std::string name = fmt::format("zz-{}-{}.ndjson", shard, i);
      const std::string key = (folder.path() / "in" / name).string().substr(1);
      if (XXH3_64bits(key.data(), key.size()) % 2 != shard) continue;
      write(name, 70);
      return;
    }
  };
  ASSERT_EQ(millrace(words("run", 0)).code, 0);
  add(1);
  ASSERT_EQ(millrace(words("run", 1)).code, 0);
  // Each has read what is its own of what is there now.
  const Ended whole = verified(false);
  EXPECT_EQ(whole.code, 0) << whole.out;
  EXPECT_THAT(whole.out, HasSubstr("warning    the shards saw different listings: 4 objects (hash "));
  EXPECT_THAT(whole.out,
              ::testing::ContainsRegex("\\) by shard 0; 5 objects \\(hash [0-9a-f]{16}\\) by shard 1\\. What is "));
  const Json said = Json::parse(verified(true).out);
  EXPECT_TRUE(said["verified"]);
  EXPECT_FALSE(said["same_listing"]);
  // One that nobody has read: those that saw the older listing are run again.
  add(0);
  const Ended gap = verified(false);
  EXPECT_EQ(gap.code, 1);
  EXPECT_THAT(gap.out, HasSubstr("is listed, and was not read\nwarning    the shards saw different listings: "));
  EXPECT_THAT(gap.out, HasSubstr("Run those again that saw an older one"));
  for (const int index : {0, 1}) ASSERT_EQ(millrace(words("run", index)).code, 0);
  const Ended same = verified(false);
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, Not(HasSubstr("warning")));
  EXPECT_TRUE(Json::parse(verified(true).out)["same_listing"]);
}

TEST_F(ReceiptOfARun, WhereItCannotGoIsSaidBeforeAnythingIsOpened) {
  write("a.ndjson", 7);
  const auto refusal = [&](const std::string& url) {
    std::string text = folder.files("").at("p.yaml");
    text.replace(text.find("receipt: {url: "), std::string::npos, "receipt: {url: " + url + "}\n");
    const std::string file = folder.write("q.yaml", text);
    const Ended validated = millrace({"validate", file});
    EXPECT_EQ(validated.code, 2);
    EXPECT_THAT(validated.err, HasSubstr(file + ":6:16: receipt.url: '" + url + "' "));
    const Ended ended = millrace({"run", file});
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.err, validated.err);
    return ended.err;
  };
  std::ignore = pipeline();
  EXPECT_THAT(refusal(folder.url("in/r.ndjson")), HasSubstr("lies under the source's prefix"));
  EXPECT_THAT(refusal(folder.url("receipts/")), HasSubstr("names no object"));
  EXPECT_THAT(refusal(folder.url("ck/m.json")), HasSubstr("is the manifest's own url"));
  EXPECT_THAT(refusal(folder.url("ck/m.listing.zst")), HasSubstr("kept for what lies beside the manifest"));
  EXPECT_THAT(refusal(folder.url("ck/m.receipt-1")), HasSubstr("kept for what lies beside the manifest"));
  EXPECT_TRUE(folder.files("out").empty());
  // The prefix takes what lies beside the manifest, too, until the receipt is finished.
  const std::string file = folder.files("").at("p.yaml");
  std::string text = file;
  text.replace(text.find(folder.url("in/")), folder.url("in/").size(), folder.url("ck/m.re"));
  const Ended beside = millrace({"validate", folder.write("r.yaml", text)});
  EXPECT_EQ(beside.code, 2);
  EXPECT_THAT(beside.err, HasSubstr("its parts lie beside the manifest"));
  text = file;
  text.replace(text.find("receipt: {url: "), std::string::npos, "receipt: {url: \"\"}\n");
  const Ended empty = millrace({"validate", folder.write("r.yaml", text)});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("receipt.url: is empty"));
}

TEST_F(ReceiptOfARun, INV2_OneThatCannotBeWrittenFailsTheRunAndIsWrittenByTheNext) {
  write("a.ndjson", 70);
  folder.write("receipts", "a file where a folder is to be");
  const std::string file = pipeline("");
  const Ended failed = millrace({"run", file, "--set", "source.s3.checkpoint.timeout=1s"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("writing the receipt " + folder.url("receipts/r.ndjson")));
  EXPECT_THAT(failed.err, Not(HasSubstr("Completed")));
  std::filesystem::remove(folder.path() / "receipts");
  ASSERT_EQ(millrace({"run", file}).code, 0);
  expect_true_receipt();
  EXPECT_EQ(millrace({"verify", file}).code, 0);
}

}  // namespace
}  // namespace millrace::cli_test
