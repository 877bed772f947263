// SPDX-License-Identifier: Apache-2.0
// Goal: what `--set source.s3.format=...` does by itself is what one expects of it. Method: the built program over
// files; Python's csv and json say what is in them; a bad record fails or is skipped and counted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct ProgramFormats : ::testing::Test {
  [[nodiscard]] Ended copy(const std::vector<std::string>& settings) const {
    std::vector<std::string> all{"run", "--from", folder.url("in/"), "--to", folder.url("out/")};
    for (const auto& setting : settings) all.insert(all.end(), {"--set", setting});
    return millrace(all);
  }
  /// The one file that was written.
  [[nodiscard]] std::string out_path() const {
    const auto files = folder.files("out");
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? "" : (folder.path() / "out" / files.begin()->first).string();
  }
  [[nodiscard]] std::string out_bytes() const {
    const auto files = folder.files("out");
    return files.size() == 1 ? files.begin()->second : fmt::format("{} files", files.size());
  }
  static int by_python(const std::string& arguments) {
    return std::system(
        fmt::format("python3 {}/cli/formats_by_python.py {}", MILLRACE_SOURCE_FOLDER, arguments).c_str());
  }
  ScratchFolder folder;
};

TEST_F(ProgramFormats, CsvBecomesJsonLines) {
  std::string text = "\xEF\xBB\xBFid,\"na\"\"me\",note\r\n";
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{},\"n, {}\",{}\r\n", i, i,
                        i % 3 == 0   ? "\"two\r\nlines \"\"and\"\" quotes\""
                        : i % 3 == 1 ? ""
                                     : "\xC3\xA9\\");
    if (i % 100 == 0) text += "\r\n";
  }
  const std::string in = folder.write("in/a.csv", text);
  const Ended ended = copy({"source.s3.format=csv"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("3,000 in, 3,000 out, 0 skipped"));
  EXPECT_THAT(out_path(), EndsWith(".ndjson"));
  EXPECT_EQ(by_python(fmt::format("csv , {} {}", in, out_path())), 0);
}

TEST_F(ProgramFormats, CsvOfAnotherDialectWithInferredTypes) {
  folder.write("in/a.csv", "id;price;ok;note\n1;1.50;true;\n\"2\";007;yes;'x;'\n");
  const Ended ended =
      copy({"source.s3.format=csv", "source.s3.csv.delimiter=;", "source.s3.csv.quote='", "decode.csv.types=infer"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(out_bytes(),
            "{\"id\":1,\"price\":1.50,\"ok\":true,\"note\":null}\n"
            "{\"id\":\"\\\"2\\\"\",\"price\":\"007\",\"ok\":\"yes\",\"note\":\"x;\"}\n");
}

TEST_F(ProgramFormats, ABadRowOfCsvFailsTheRunNamed) {
  folder.write("in/a.csv", "id,name\n1,one\n2,two,extra\n3\n4,four\n");
  const Ended failed = copy({"source.s3.format=csv"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("record 2 of "));
  EXPECT_THAT(failed.err, HasSubstr("in/a.csv"));
  EXPECT_THAT(failed.err, HasSubstr("the row has 3 fields, the header 2 (id, name)"));
}

TEST_F(ProgramFormats, ABadRowOfCsvIsSkippedAndCountedWhereThatIsAskedFor) {
  folder.write("in/a.csv", "id,name\n1,one\n2,two,extra\n3\n4,four\n");
  const Ended skipped = copy({"source.s3.format=csv", "decode.csv.on_error=skip"});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("4 in, 2 out, 2 skipped"));
  EXPECT_EQ(out_bytes(), "{\"id\":\"1\",\"name\":\"one\"}\n{\"id\":\"4\",\"name\":\"four\"}\n");
}

TEST_F(ProgramFormats, CsvWhoseHeaderNamesColumnsAlikeFailsOnlyWhereNamesAreNeeded) {
  folder.write("in/a.csv", "a,,a,\n1,2,3,4\n");
  const Ended named = copy({"source.s3.format=csv", "decode.csv.on_error=skip"});
  EXPECT_EQ(named.code, 1) << named.err;
  EXPECT_THAT(named.err, HasSubstr("in/a.csv"));
  EXPECT_THAT(named.err, HasSubstr("names columns 1 and 3 alike, 'a'"));
  EXPECT_THAT(named.err, HasSubstr("decode: {raw: {}}"));
}

TEST_F(ProgramFormats, CsvWhoseHeaderNamesColumnsAlikePassesAsRows) {
  folder.write("in/a.csv", "a,,a,\n1,2,3,4\n");
  const Ended passed = copy({"source.s3.format=csv", "decode.raw={}"});
  EXPECT_EQ(passed.code, 0) << passed.err;
  EXPECT_EQ(out_bytes(), "1,2,3,4\n");
}

TEST_F(ProgramFormats, CsvOptionsWithoutCsvAreRefused) {
  folder.write("in/a.csv", "a\n");
  const Ended other = copy({"source.s3.csv.delimiter=;"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("source.s3.csv: says how format: csv is spelled, but format is 'ndjson'"));
  const Ended two = copy({"source.s3.format=csv", "source.s3.csv.delimiter=::"});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("source.s3.csv.delimiter: '::' is not one ASCII character other than a line end"));
}

TEST_F(ProgramFormats, JsonArraysBecomeJsonLines) {
  std::string text = "[";
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{}\n  {{\n    \"n\": {},\n    \"s\": \"],[ \\\"{}\\\\\", \"a\": [1, {{}}]\n  }}",
                        i == 0 ? "" : ",", i, i);
  }
  const std::string in = folder.write("in/a.json", text + ", 7, null, \"x\"\n]\n");
  const Ended ended = copy({"source.s3.format=json_array"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("3,003 in, 3,003 out, 0 skipped"));
  EXPECT_THAT(out_path(), EndsWith(".ndjson"));
  EXPECT_EQ(by_python(fmt::format("json_array {} {}", in, out_path())), 0);
}

TEST_F(ProgramFormats, C12_NdjsonReadAsAnArrayFailsWithTheWayOut) {
  folder.write("in/a.json", "{\"n\":1}\n{\"n\":2}\n");
  const Ended ended = copy({"source.s3.format=json_array"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("in/a.json"));
  EXPECT_THAT(ended.err, HasSubstr("this looks like NDJSON, which format: ndjson reads"));
}

TEST_F(ProgramFormats, G02_RawCopiesAnObjectByteForByte) {
  std::mt19937_64 random(3);  // the same each time
  std::string bytes(1U << 20U, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  folder.write("in/a.dat", bytes);
  const Ended ended = copy({"source.s3.format=raw"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("1 in, 1 out, 0 skipped"));
  EXPECT_TRUE(out_bytes() == bytes);
}

TEST_F(ProgramFormats, LinesKeepsEveryLine) {
  folder.write("in/a.log", "\xEF\xBB\xBFone\n\n  \nnot {json\nlast\n");
  const Ended ended = copy({"source.s3.format=lines"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(out_bytes(), "\xEF\xBB\xBFone\n\n  \nnot {json\nlast\n");
}

}  // namespace
}  // namespace millrace::cli_test
