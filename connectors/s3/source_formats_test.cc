// SPDX-License-Identifier: Apache-2.0
// Goal: what holds for one format of the source holds for each: a run that is killed behind any record goes on with
// exactly the rest, plain or compressed, however the reads cut the object; bad input is told with object, place, cause
// and way out. The expected records are written out beside each object; compressed bytes come from gzip and zstd.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using Records = std::vector<std::string>;

struct Sample {
  std::string format;
  std::string bytes;
  Records records;
};

/// One object of each format, with what is odd about it.
std::vector<Sample> samples() {
  return {
      {"ndjson", "\xEF\xBB\xBF{\"n\":1}\r\n\n  \n{\"n\":2}\n3\n\n4", {"{\"n\":1}", "{\"n\":2}", "3", "4"}},
      {"lines",
       "\xEF\xBB\xBF"
       "one\r\n\n  \ntwo\n\nlast",
       {"\xEF\xBB\xBF"
        "one",
        "", "  ", "two", "", "last"}},
      {"json_array",
       "\xEF\xBB\xBF [\n{\"n\": \"],[\\\"\"} , [1,[2]],\"a,\\\\\",\n 4,null]\r\n",
       {"{\"n\": \"],[\\\"\"}", "[1,[2]]", "\"a,\\\\\"", "4", "null"}},
      {"csv",
       "\xEF\xBB\xBF"
       "a,\"b\n\"\r\n1,\"x\r\ny\"\r\n\r\n2,\"\"\"\"\n\"\",\n3,z",
       {"1,\"x\r\ny\"", "2,\"\"\"\"", "\"\",", "3,z"}},
      {"raw", std::string("\0\xFF\n\r\n\x1F", 6), {std::string("\0\xFF\n\r\n\x1F", 6)}},
  };
}

class Formats : public SourceTest, public ::testing::WithParamInterface<Sample> {
 protected:
  std::unique_ptr<BackfillRig> rig_of(std::size_t chunk_bytes) {
    auto rig = std::make_unique<BackfillRig>(memory);
    rig->options.format = GetParam().format;
    rig->options.lanes = 1;
    rig->options.chunk_bytes = {chunk_bytes};
    rig->options.prefetch_bytes = {4 * chunk_bytes};
    rig->max_records = 1;
    rig->flags.take_over = true;
    return rig;
  }
  static Records texts(const BackfillRig& rig) {
    Records texts;
    for (const Record& record : rig.records) texts.push_back(record.bytes);
    return texts;
  }
};

TEST_P(Formats, INV1_KilledBehindAnyRecordTheNextRunReadsExactlyTheRest) {
  const Sample& sample = GetParam();
  const std::pair<std::string, std::string> stored_as[] = {
      {"", sample.bytes}, {".gz", gzip_of(sample.bytes)}, {".zst", zstd_of(sample.bytes)}};
  for (const auto& [extension, bytes] : stored_as) {
    for (const std::size_t chunk_bytes : {std::size_t{3}, std::size_t{1000}}) {
      // The object twice, so that the rest reaches into the next one.
      Records all = sample.records;
      all.insert(all.end(), sample.records.begin(), sample.records.end());
      for (std::size_t killed_behind = 0; killed_behind <= all.size(); ++killed_behind) {
        memory = std::make_shared<MemoryStore>();
        memory->set("in/a" + extension, bytes);
        memory->set("in/b" + extension, bytes);
        const auto first = rig_of(chunk_bytes);
        ASSERT_TRUE(first->open());
        ASSERT_TRUE(first->poll_records(killed_behind));
        ASSERT_TRUE(first->commit());
        first->kill();
        const auto second = rig_of(chunk_bytes);
        ASSERT_EQ(message_of(second->run()), "succeeded");
        const Records rest(all.begin() + static_cast<std::ptrdiff_t>(killed_behind), all.end());
        ASSERT_EQ(texts(*second), rest) << "killed behind " << killed_behind << " of a" << extension;
        ASSERT_TRUE(stored().complete);
      }
    }
  }
}

// C01: no bytes, and nothing once it is decompressed: no record, and the object behind it is read.
TEST_P(Formats, C01_AnObjectOfNothingHasNoRecord) {
  memory->set("in/0", "");
  memory->set("in/1.gz", gzip_of(""));
  memory->set("in/2", GetParam().bytes);
  const auto rig = rig_of(1000);
  ASSERT_EQ(message_of(rig->run()), "succeeded");
  EXPECT_EQ(texts(*rig), GetParam().records);
  EXPECT_EQ(rig->records.front().object, "in/2");
  EXPECT_TRUE(stored().complete);
}

INSTANTIATE_TEST_SUITE_P(All, Formats, ::testing::ValuesIn(samples()),
                         [](const auto& sample) { return sample.param.format; });

class FormatFaults : public SourceTest {
 protected:
  std::string problem_of(const std::string& format, const std::string& bytes, std::uint64_t max_record_bytes = 1000) {
    memory = std::make_shared<MemoryStore>();
    memory->set("in/a", bytes);
    BackfillRig rig(memory);
    rig.options.format = format;
    rig.options.max_record_bytes = {max_record_bytes};
    const auto result = rig.run();
    EXPECT_FALSE(stored().complete);
    return message_of(result);
  }
};

TEST_F(FormatFaults, C05_ARawObjectOverTheLimitNamesItAndTheWayOut) {
  EXPECT_EQ(problem_of("raw", std::string(1001, 'x')),
            "object 's3://b/in/a': format raw makes one record of the whole object, which is longer than "
            "max_record_bytes: 1001 bytes, limit 1000; raise max_record_bytes, or choose a format that cuts the object "
            "into records (decoded byte 0, record 1)");
}

TEST_F(FormatFaults, C12_WhatIsNoArrayNamesObjectElementAndTheWayOut) {
  EXPECT_EQ(
      problem_of("json_array", "{\"n\":1}\n{\"n\":2}\n"),
      "object 's3://b/in/a': not a JSON array: it begins with '{', not with '['; this looks like NDJSON, which "
      "format: ndjson reads, a document a line; one document alone is read by format: raw (decoded byte 0, element "
      "1)");
  EXPECT_EQ(
      problem_of("json_array", "[{},\n{},\n]"),
      "object 's3://b/in/a': element 3 of the array: expected a value behind the comma, found ']'; JSON allows no "
      "comma before the closing bracket (decoded byte 7, element 3)");
  EXPECT_EQ(
      problem_of("json_array", "[{},{\"n\":"),
      "object 's3://b/in/a': the array is not closed: the object ends inside element 2 (decoded byte 3, element 2)");
}

TEST_F(FormatFaults, WhatIsNoCsvNamesObjectRowLineAndTheWayOut) {
  EXPECT_EQ(problem_of("csv", "\na,\xE9\n1,2\n"),
            "object 's3://b/in/a': the header of this CSV cannot be read: it is not valid UTF-8 at byte 2; rewrite the "
            "object as UTF-8 (decoded byte 1, line 2)");
  EXPECT_EQ(
      problem_of("csv", "a,b\n1,2\n3,\"4\n5,6\n"),
      "object 's3://b/in/a': the object ends inside the quotes of row 2, which begins in line 3, which open in line "
      "3: it was cut off, or a quote is missing or too many (decoded byte 8, line 3)");
}

// The header reaches the decoder with the origin, also where the run goes on in the middle of an object.
TEST_F(SourceTest, EachObjectsRowsComeWithItsOwnHeader) {
  memory->set("in/a", "x,y\n1,2\n3,4\n5,6\n");
  memory->set("in/b.gz", gzip_of("z\n7\n"));
  const auto headers_of = [&](std::size_t polls) {
    BackfillRig rig(memory);
    rig.options.format = "csv";
    rig.options.lanes = 1;
    rig.max_records = 1;
    rig.flags.take_over = true;
    EXPECT_TRUE(rig.open());
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < polls; ++i) {
      const auto polled = rig.lanes[0]->poll(1, std::chrono::seconds(20));
      if (!polled || !std::holds_alternative<PayloadBatch>(*polled)) break;
      const auto& batch = std::get<PayloadBatch>(*polled);
      for (const std::string_view row : batch.payloads) {
        std::string names;
        for (const std::string& name : batch.origin->columns->names) names += name + " ";
        seen.push_back(names + std::string(row));
      }
    }
    EXPECT_TRUE(rig.commit());
    rig.kill();
    return seen;
  };
  EXPECT_EQ(headers_of(2), (Records{"x y 1,2", "x y 3,4"}));
  EXPECT_EQ(headers_of(10), (Records{"x y 5,6", "z 7"}));
}

TEST_F(SourceTest, F09_AnotherDialectOfCsvIsAnotherSource) {
  memory->set("in/a", "a;b\n1;2\n3;4\n");
  {
    BackfillRig first(memory);
    first.options.format = "csv";
    ASSERT_TRUE(first.run());
  }
  BackfillRig second(memory);
  second.options.format = "csv";
  second.options.csv.delimiter = ";";
  const auto run = second.run();
  ASSERT_FALSE(run);
  EXPECT_NE(message_of(run).find("format was csv and is csv, delimiter ';', quote '\"' now"), std::string::npos)
      << message_of(run);
}

TEST_F(SourceTest, G02_RandomBytesComeBackAsTheOneRecordOfRaw) {
  std::mt19937_64 random(11);  // the same each time
  std::string bytes(1U << 20U, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  memory->set("in/a", bytes);
  memory->set("in/b.gz", gzip_of(bytes));
  BackfillRig rig(memory);
  rig.options.format = "raw";
  rig.options.chunk_bytes = {100'000};
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  ASSERT_EQ(rig.records.size(), 2U);
  for (const Record& record : rig.records) EXPECT_TRUE(record.bytes == bytes) << record.object;
}

}  // namespace
}  // namespace millrace::s3_source
