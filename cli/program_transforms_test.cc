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
