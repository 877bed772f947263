// SPDX-License-Identifier: Apache-2.0
// Goal: what the built program does with a bad record where `dead_letter:` gives it a place: kept whole, counted in the
// last line and the receipt, refused where it could not be told apart from records.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

struct DeadLetterRun : ::testing::Test {
  ScratchFolder folder;

  DeadLetterRun() {
    folder.write("in/a.ndjson", "{\"n\":1}\n{\"n\":\n{\"n\":3}\n");
    folder.write("in/b.ndjson", "{\"n\":4}\n\xff\xfe{\n");
  }
  [[nodiscard]] std::string pipeline(const std::string& dead_letter, const std::string& more = "") const {
    return folder.write("p.yaml",
                        fmt::format("pipeline: {{name: copy}}\n"
                                    "source: {{s3: {{url: {}, name: in, checkpoint: {{url: {}}}}}}}\n"
                                    "decode: {{json: {{on_error: skip}}}}\n"
                                    "sink: {{s3: {{url: {}, wrap: false, path_template: \"{{topic}}\"}}}}\n"
                                    "dead_letter: {}\n{}",
                                    folder.url("in/"), folder.url("ck/m.json"), folder.url("out/"), dead_letter, more));
  }
  [[nodiscard]] std::string to_folder(const std::string& more = "") const {
    return fmt::format("{{s3: {{url: {}, path_template: \"{{topic}}\"{}}}}}", folder.url("bad/"), more);
  }
  /// Each line of every object below `name`, in the order of their names.
  [[nodiscard]] std::vector<Json> documents(const std::string& name) const {
    std::vector<Json> all;
    for (const auto& [file, text] : folder.files(name)) {
      for (const std::string& line : lines_of(text)) all.push_back(Json::parse(line));
    }
    return all;
  }
};

TEST_F(DeadLetterRun, INV6_BadRecordsAreKeptWithTheirBytesAndTheReceiptBalances) {
  const std::string file =
      pipeline(to_folder(), "receipt: {url: " + folder.url("r.ndjson") + "}\nmetrics: {listen: none}\n");
  const Ended ended = millrace({"run", file});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("5 in, 3 out, 0 skipped, 2 dead-lettered (invalid_utf8 1, malformed 1)"));
  const std::vector<Json> letters = documents("bad");
  ASSERT_EQ(letters.size(), 2U);
  const Json& text = letters[0];
  EXPECT_EQ(text["payload"], "{\"n\":");
  EXPECT_EQ(text["record"], 2);
  EXPECT_EQ(text["reason"], "malformed");
  EXPECT_EQ(text["stage"], "stage 1 (decode json)");
  EXPECT_EQ(text["stream"], "copy");
  EXPECT_EQ(text["topic"], "in");
  EXPECT_THAT(text["object"].get<std::string>(), ::testing::EndsWith("in/a.ndjson"));
  EXPECT_FALSE(text.contains("payload_encoding"));
  EXPECT_EQ(letters[1]["reason"], "invalid_utf8");
  EXPECT_EQ(letters[1]["payload"], "//57");  // printf '\xff\xfe{' | base64
  EXPECT_EQ(letters[1]["payload_encoding"], "base64");
  EXPECT_THAT(letters[1]["object"].get<std::string>(), ::testing::EndsWith("in/b.ndjson"));

  const std::vector<std::string> receipt = lines_of(folder.files("").at("r.ndjson"));
  ASSERT_EQ(receipt.size(), 3U);
  // Objects stand in the order in which they were committed.
  const bool a_first = receipt[0].find("in/a.ndjson") != std::string::npos;
  const Json of_a = Json::parse(receipt[a_first ? 0 : 1]);
  EXPECT_EQ(of_a["dead_lettered"], Json::parse(R"({"malformed":1})"));
  EXPECT_EQ(of_a["skipped"], Json::object());
  std::vector<std::string> sinks;
  for (const Json& place : of_a["sinks"]) sinks.push_back(place["sink"]);
  EXPECT_THAT(sinks, ::testing::UnorderedElementsAre("sink", "dead_letter"));
  const Ended verified = millrace({"verify", file});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_THAT(verified.out,
              HasSubstr("5 read: 3 out, 0 filtered, 1 dead-lettered (invalid_utf8), 1 dead-lettered (malformed)"));
}

TEST_F(DeadLetterRun, FailOnSkippedIsAboutThemToo) {
  const Ended ended = millrace({"run", pipeline(to_folder()), "--fail-on-skipped"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Completed after"));
  EXPECT_THAT(ended.err, HasSubstr("4, because records were skipped"));
}

// What was kept is read back by our own source: the letters as records, and raw ones as they were.
TEST_F(DeadLetterRun, OurOwnSourceReadsLettersBack) {
  ASSERT_EQ(millrace({"run", pipeline(to_folder(", output_format: json_array"))}).code, 0);
  const std::string again = folder.write(
      "again.yaml",
      fmt::format("source: {{s3: {{url: {}, format: json_array, checkpoint: {{url: {}}}}}}}\n"
                  "decode: {{json: {{}}}}\nsink: {{s3: {{url: {}, wrap: false, path_template: \"{{topic}}\"}}}}\n",
                  folder.url("bad/"), folder.url("ck/again.json"), folder.url("again/")));
  const Ended ended = millrace({"run", again});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::vector<Json> letters = documents("again");
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0]["payload"], "{\"n\":");
}

TEST_F(DeadLetterRun, RawLettersAreTheRecordsAlone) {
  const Ended ended = millrace({"run", pipeline(to_folder(", output_format: raw, delimiter: \"\\n\""))});
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::string all;
  for (const auto& [name, text] : folder.files("bad")) all += text;
  EXPECT_EQ(all, "{\"n\":\n\xff\xfe{\n");
}

TEST_F(DeadLetterRun, LettersMayGoToStandardOutput) {
  const Ended ended = millrace({"run", pipeline("{stdout: {format: json_lines}}")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::vector<std::string> letters = lines_of(ended.out);
  ASSERT_EQ(letters.size(), 2U);
  // Two lanes wrote them, in whatever order.
  std::vector<std::string> payloads;
  for (const std::string& letter : letters) payloads.push_back(Json::parse(letter)["payload"]);
  EXPECT_THAT(payloads, ::testing::UnorderedElementsAre("{\"n\":", "//57"));
}

// A second run has nothing to do and writes nothing.
TEST_F(DeadLetterRun, ARerunWritesNoLetterTwice) {
  const std::string file = pipeline(to_folder());
  ASSERT_EQ(millrace({"run", file}).code, 0);
  const auto before = folder.files("bad");
  const Ended again = millrace({"run", file});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(folder.files("bad"), before);
  // Read anew, the same letters have the same names and bytes.
  const Ended reset = millrace({"run", file, "--reset", "--yes"});
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_EQ(folder.files("bad"), before);
}

TEST_F(DeadLetterRun, APlanCountsTheirMemoryAndRights) {
  const Ended ended = millrace({"plan", pipeline(to_folder())});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("dead letters: open output"));
  EXPECT_THAT(ended.out, HasSubstr("(dead letters)"));
}

// What nothing would keep is said before anything is lost.
TEST_F(DeadLetterRun, DroppingWithoutAPlaceForItIsWarnedOf) {
  const std::string sink = "sink.s3.on_upload_failure=drop";
  const Ended with = millrace({"run", pipeline(to_folder()), "--set", sink});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(with.err, ::testing::Not(HasSubstr("nothing keeps it")));
  const std::string alone = folder.write(
      "alone.yaml", fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}}}}}\nsink: {{s3: {{url: {}, "
                                "on_upload_failure: drop}}}}\n",
                                folder.url("in/"), folder.url("ck/alone.json"), folder.url("alone/")));
  const Ended without = millrace({"run", alone});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("nothing keeps it; a dead_letter would"));
}

TEST_F(DeadLetterRun, APlaceThatNothingReachesIsRefused) {
  const auto validated = [&](const std::string& on_upload_failure) {
    return millrace(
        {"validate", folder.write("unread.yaml", fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}}}}}\n"
                                                             "sink: {{s3: {{url: {}, path_template: \"{{topic}}\", "
                                                             "on_upload_failure: {}}}}}\ndead_letter: {}\n",
                                                             folder.url("in/"), folder.url("ck/m.json"),
                                                             folder.url("out/"), on_upload_failure, to_folder()))});
  };
  EXPECT_EQ(validated("drop").code, 0);
  EXPECT_EQ(validated("Drop").code, 0) << "files that are given up reach it, however the word is written";
  const Ended ended = validated("stall");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err + ended.out,
              HasSubstr("payloads pass unread, so a bad record cannot be skipped; read them with decode"));
}

TEST_F(DeadLetterRun, APlaceThatIsNotApartIsRefused) {
  const auto refused = [&](const std::string& dead_letter) {
    const Ended ended = millrace({"validate", pipeline(dead_letter)});
    EXPECT_EQ(ended.code, 2) << dead_letter;
    return ended.err + ended.out;
  };
  const auto below = [&](const std::string& name) {
    return fmt::format("{{s3: {{url: {}, path_template: \"{{topic}}\"}}}}", folder.url(name));
  };
  EXPECT_THAT(refused(below("in/bad/")), HasSubstr("p.yaml:5:15: dead_letter.s3: the sink writes below"));
  EXPECT_THAT(refused(below("out/")), HasSubstr("p.yaml:5:15: dead_letter.s3: dead letters below"));
  EXPECT_THAT(refused(below("out/bad/")), HasSubstr("a prefix of their own"));
  EXPECT_THAT(refused(fmt::format("{{s3: {{url: {}, path_template: \"{{topic}}/{{field.a}}\"}}}}", folder.url("bad/"))),
              HasSubstr("a dead letter, whose record may be anything, goes by none of them"));
  EXPECT_THAT(refused(to_folder(", wrap: true")), HasSubstr("dead_letter.s3.wrap: has no effect on dead letters"));
  // Choices are read without regard to case.
  for (const char* drop : {"drop", "Drop"}) {
    EXPECT_THAT(refused(to_folder(std::string(", on_upload_failure: ") + drop)), HasSubstr("would be kept nowhere"));
  }
  const std::string both =
      folder.write("both.yaml", fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}}}}}\n"
                                            "decode: {{json: {{on_error: skip}}}}\nsink: {{stdout: {{}}}}\n"
                                            "dead_letter: {{stdout: {{}}}}\n",
                                            folder.url("in/"), folder.url("ck/m.json")));
  const Ended ended = millrace({"validate", both});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err + ended.out, HasSubstr("both.yaml:4:15: dead_letter.stdout: records and dead letters would"));
}

// A letter has its bytes as base64, four for each three, and what it says beside them.
TEST_F(DeadLetterRun, APlaceThatWouldNotTakeWhatTheSinkDoesNotTakeIsRefused) {
  const auto validated = [&](const std::string& on_error, const std::string& sink, const std::string& letters) {
    return millrace(
        {"validate",
         folder.write("sizes.yaml", fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}}}}}\n"
                                                "decode: {{json: {{on_error: {}}}}}\n"
                                                "sink: {}\ndead_letter: {}\n",
                                                folder.url("in/"), folder.url("ck/m.json"), on_error, sink, letters))});
  };
  std::vector<std::string> topics{
      "{{iggy: {{address: \"h:1\", username: u, password: p, stream: s, topic: {}, max_record_bytes: {}{}}}}}"};
#ifdef MILLRACE_HAS_KAFKA
  topics.emplace_back("{{kafka: {{brokers: [\"h:1\"], topic: {}, max_record_bytes: {}{}}}}}");
#endif
  for (const std::string& topic : topics) {
    const auto put = [&](const char* name, int bytes, const char* more = "") {
      return fmt::format(fmt::runtime(topic), name, bytes, more);
    };
    for (const int bytes : {30'000, 31'000, 55'000}) {
      const Ended ended = validated("skip", put("t", 30'000), put("bad", bytes));
      EXPECT_EQ(ended.code, 2) << topic << bytes;
      EXPECT_THAT(ended.err + ended.out, HasSubstr("sizes.yaml:4:15: dead_letter."));
      EXPECT_THAT(ended.err + ended.out, HasSubstr("a record that is too large for the sink (max_record_bytes)"));
    }
    EXPECT_EQ(validated("skip", put("t", 30'000), put("bad", 57'000)).code, 0) << topic;
    const std::string drop = ", on_write_failure: drop, batch_bytes: 70000";
    EXPECT_EQ(validated("fail", put("t", 30'000, drop.c_str()), put("bad", 149'000)).code, 2) << topic;
    EXPECT_EQ(validated("fail", put("t", 30'000, drop.c_str()), put("bad", 150'000)).code, 0) << topic;
    const std::string files =
        fmt::format("{{s3: {{url: {}, path_template: \"{{topic}}\", on_upload_failure: drop, max_file_size: 300KiB}}}}",
                    folder.url("out/"));
    const Ended ended = validated("fail", files, put("bad", 400'000));
    EXPECT_EQ(ended.code, 2) << topic;
    EXPECT_THAT(ended.err + ended.out, HasSubstr("a file that is given up (on_upload_failure: drop; max_file_size)"));
    EXPECT_EQ(validated("fail", files, put("bad", 430'000)).code, 0) << topic;
  }
}

}  // namespace
}  // namespace millrace::cli_test
