// SPDX-License-Identifier: Apache-2.0
// Goal: a pipeline file with `transforms` does what it says, and what it cannot promise is refused before it begins.
// Method: the built program over files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct ProgramTransforms : ::testing::Test {
  [[nodiscard]] std::string file(const std::string& transforms, const std::string& sink = "stdout: {}") const {
    return folder.write("p.yaml",
                        fmt::format("source: {{s3: {{url: \"{}\", checkpoint: {{url: \"{}\"}}, frozen: strict}}}}\n"
                                    "sink: {{{}}}\n{}\n",
                                    folder.url("in/"), folder.url("m.json"), sink, transforms));
  }
  ScratchFolder folder;
};

TEST_F(ProgramTransforms, INV6_CountsWhatIsFilteredAndGivesOnTheRest) {
  folder.write("in/a.ndjson", "{\"a\":1.0}\n{\"a\":2}\n{\"b\":[ ]}\n");
  const Ended ended =
      millrace({"run", file("transforms:\n- filter: {where: not a == 2}\n"
                            "- add_fields: {fields: [{key: k, value: {computed: record_timestamp_seconds}}]}\n"
                            "- delete_fields: {fields: [k]}\n")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "{\"a\":1.0}\n{\"b\":[ ]}\n");
  EXPECT_THAT(ended.err, HasSubstr("3 in, 2 out"));
  EXPECT_THAT(ended.err, HasSubstr("1 filtered"));
}

TEST_F(ProgramTransforms, ARecordThatDoesNotFitEndsTheRunOrIsSkippedAsDecodeSays) {
  folder.write("in/a.ndjson", "{\"a\":1}\n{\"a\":{}}\n");
  const std::string transforms = "transforms: [{add_fields: {fields: [{key: a.b, value: {static: 1}}]}}]\n";
  const Ended failed = millrace({"run", file(transforms)});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err,
              AllOf(HasSubstr("record 1 of "), HasSubstr("in/a.ndjson"), HasSubstr("transforms[0], add_fields"),
                    HasSubstr("'a.b' cannot be set: 'a' on its way is a number (byte 5)")));
  const Ended skipped = millrace({"run", file(transforms + "decode: {json: {on_error: skip}}\n")});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_EQ(skipped.out, "{\"a\":{\"b\":1}}\n");
  EXPECT_THAT(skipped.err, HasSubstr("1 skipped"));
}

TEST_F(ProgramTransforms, ExactlyOnceRefusesWhatAReplayWouldMakeAnew) {
  folder.write("in/a.ndjson", "{}\n");
  const std::string sink =
      fmt::format("s3: {{url: \"{}\", delivery: exactly_once, max_file_age: 0s}}", folder.url("out/"));
  const auto validated = [&](const std::string& computed) {
    return millrace(
        {"validate",
         file("transforms: [{add_fields: {fields: [{key: t, value: {computed: " + computed + "}}]}}]\n", sink)});
  };
  const Ended refused = validated("uuid_v7");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("delivery: exactly_once cannot hold beside transforms[0] (add_fields): uuid_v7"));
  EXPECT_EQ(validated("record_date_time").code, 0) << validated("record_date_time").err;
}

TEST_F(ProgramTransforms, ExactlyOnceRefusesAJqThatAsksForTheTime) {
  folder.write("in/a.ndjson", "{}\n");
  const std::string sink =
      fmt::format("s3: {{url: \"{}\", delivery: exactly_once, max_file_age: 0s}}", folder.url("out/"));
  const auto validated = [&](const std::string& program) {
    return millrace({"validate", file("transforms: [{jq: '" + program + "'}]\n", sink)});
  };
  const Ended probe = validated(".");
  if (probe.err.find("libjq was not found") != std::string::npos) return;
  EXPECT_EQ(probe.code, 0) << probe.err;
  for (const std::string program : {".t = now", ".t |= fromdate", ".t |= strftime(\"%s\")"}) {
    const Ended refused = validated(program);
    EXPECT_EQ(refused.code, 2) << program;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot hold beside transforms[0] (jq): "),
                                   HasSubstr("add_fields with value {computed: record_date_time}")));
  }
  EXPECT_EQ(validated(".now | {now: .t, fromdate}").code, 0) << "fields and keys are no calls";
}

TEST_F(ProgramTransforms, JqSeesNothingButTheDocument) {
  folder.write("in/a.ndjson", "{\"a\":1}\n");
  const auto validated = [&](const std::string& program, const Environment& more = {}) {
    return millrace({"validate", file("transforms: [{jq: '" + program + "'}]\n")}, more);
  };
  const Ended probe = validated(".");
  if (probe.err.find("libjq was not found") != std::string::npos) return;
  const Ended environment = validated("$ENV.PATH");
  EXPECT_EQ(environment.code, 2);
  EXPECT_THAT(environment.err,
              AllOf(HasSubstr("p.yaml:3:"), HasSubstr("transforms[0].jq: jq: '$ENV' reads the environment"),
                    HasSubstr("add_fields with value {static: \"${NAME}\"}")));
  EXPECT_EQ(validated("debug").code, 2);
  EXPECT_EQ(validated("import \"a\" as a; .").code, 2);
  folder.write("home/.jq", "def length: 42;\n");
  const Ended home = validated("length", {{"HOME", (folder.path() / "home").string()}});
  EXPECT_EQ(home.code, 2);
  EXPECT_THAT(home.err,
              AllOf(HasSubstr("home/.jq"), HasSubstr("move that file away, or run with a HOME that has none")));
  folder.write("other/.jq/a.jq", "def length: 42;\n");
  EXPECT_EQ(validated("length", {{"HOME", (folder.path() / "other").string()}}).code, 0) << "a folder is not read";
}

TEST_F(ProgramTransforms, WhatLibjqCannotWriteIsToldWithItsPlace) {
  folder.write("in/a.ndjson", "1\n" + std::string(256, '[') + "1" + std::string(256, ']') + "\n2\n");
  const std::string transforms = "transforms: [{jq: '[.]'}]\n";
  const Ended failed = millrace({"run", file(transforms)});
  if (failed.err.find("libjq was not found") != std::string::npos) return;
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("record 2 of "), HasSubstr("in/a.ndjson"), HasSubstr("transforms[0], jq"),
                                HasSubstr("offset=1"), HasSubstr("cannot be written as JSON")));
  const Ended skipped = millrace({"run", file(transforms + "decode: {json: {on_error: skip}}\n")});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_EQ(failed.out + skipped.out, "[1]\n[2]\n") << "what was durable is not read again";
}

// libjq frees with what halts a program, and what it keeps hold of then would be freed again with each record: seen
// where memory is given out again at once, as by the allocator of a release, and of AddressSanitizer without its
// quarantine.
TEST_F(ProgramTransforms, RecordsBehindOneThatHaltsAreWhole) {
  std::string lines;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string text = "\"" + std::string(20 + i % 7, static_cast<char>('a' + i % 3)) + "\"\n";
    lines += text;
    if (i % 3 != 0) expected += text;
  }
  folder.write("in/a.ndjson", lines);
  const std::string transforms = "transforms: [{jq: 'if startswith(\"a\") then halt_error else . end'}]\n";
  const Ended ended = millrace({"run", file(transforms + "decode: {json: {on_error: skip}}\n")},
                               {{"ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}});
  if (ended.err.find("libjq was not found") != std::string::npos) return;
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, expected);
  EXPECT_THAT(ended.err, HasSubstr("100 skipped"));
}

TEST_F(ProgramTransforms, INV7_PlanCountsThemAndExplainTellsKeysOfWhatTheyMake) {
  folder.write("in/a.ndjson", "{}\n");
  const std::string transforms = "transforms: [{unwrap_envelope: {field: data}}]\n";
  const Ended plan = millrace({"plan", file(transforms)});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("transforms"));
  EXPECT_THAT(millrace({"plan", file("")}).out, Not(HasSubstr("transforms")));
  const std::string sink =
      fmt::format("s3: {{url: \"{}\", path_template: \"{{topic}}/{{field.day}}\"}}", folder.url("out/"));
  const std::string sample = folder.write("sample", "{\"data\":{\"day\":\"monday\"}}\n");
  const Ended explained = millrace({"explain", file(transforms, sink), "--records", sample});
  EXPECT_THAT(explained.out, HasSubstr("monday")) << explained.err;
}

TEST_F(ProgramTransforms, ValidateNamesEveryMistakeWithItsPlace) {
  const Ended ended = millrace({"validate", file("transforms:\n- filter: {where: a = 1}\n- renam: {a: b}\n")});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("p.yaml:4:11: transforms[0].filter: where: at character 3"));
  EXPECT_THAT(ended.err, HasSubstr("p.yaml:5:3: transforms[1].renam: unknown; did you mean 'rename'?"));
}

}  // namespace
}  // namespace millrace::cli_test
