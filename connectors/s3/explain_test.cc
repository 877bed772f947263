// SPDX-License-Identifier: Apache-2.0
// What `millrace explain` says of an S3 sink. Keys are those of docs/connectors/s3-sink.md, worked out by hand.
#include "connectors/s3/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/sink_options_fixture.h"

namespace millrace::s3_sink {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

struct Explain : ::testing::Test {
  Explanation of(const std::string& yaml) {
    const auto config = Config::parse("sink: {s3: {url: s3://b/out, " + yaml + "}}\n", "p.yaml");
    EXPECT_TRUE(config) << yaml;
    const ConfigSection section = config->section("sink.s3");
    const auto options = schema().parse(section);
    EXPECT_TRUE(options) << options.error().message();
    const auto checked = check(*options, section);
    request.names = &names;
    if (!records.empty()) request.records = &records;
    return explain(*options, *checked, "pipe", request);
  }
  static std::vector<std::string> keys(const Explanation& e) {
    std::vector<std::string> all;
    for (const auto& named : e.keys) all.push_back(named.key);
    return all;
  }
  static std::vector<std::string> shared(const Explanation& e) {
    std::vector<std::string> all;
    for (const auto& one : e.shared) all.push_back(one.one + " and " + one.other);
    return all;
  }
  Explain() {
    names.stream = "application_logs";
    names.topic = "api_requests";
    names.bucket = "in";
    names.object = "exports/part-1";
  }
  Origin names;
  ExplainRequest request;
  std::vector<std::string> records;
};

TEST_F(Explain, SampleKeysAreThoseThatARunWrites) {
  const Explanation e = of("probe: true");
  EXPECT_THAT(keys(e), ElementsAre("out/application_logs/api_requests/2026-03-16/14/"
                                   "00000-00000000000000000000-00000000000000000999.jsonl",
                                   "out/application_logs/api_requests/2026-03-16/14/"
                                   "00000-00000000000000001000-00000000000000001999.jsonl",
                                   "out/application_logs/api_requests/2026-03-16/14/"
                                   "00001-00000000000000000000-00000000000000000999.jsonl",
                                   "out/application_logs/api_requests-2/2026-03-16/14/"
                                   "00000-00000000000000000000-00000000000000000999.jsonl"));
  EXPECT_TRUE(e.ok());
  EXPECT_EQ(e.variables.size(), 4U);
}

// Which names could meet is found by making the keys of such names.
TEST_F(Explain, K12_NamesThatCouldShareAKeyAreTold) {
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}'")),
              ElementsAre("topic 'a/b' and topic 'a_b'", "stream 'a/b' and stream 'a_b'"));
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}', name_encoding: percent")), IsEmpty());
  EXPECT_THAT(shared(of("path_template: '{topic}', name_encoding: percent")),
              ElementsAre("stream 'one' and stream 'two'"));
  EXPECT_THAT(shared(of("path_template: '{stream}-{topic}', name_encoding: percent")),
              ElementsAre("{stream} 'a-b' and {topic} 'c' and {stream} 'a' and {topic} 'b-c'"));
  EXPECT_THAT(shared(of("path_template: '{stream}={topic}', name_encoding: percent")), IsEmpty());
  EXPECT_THAT(shared(of("path_template: '{object}', name_encoding: percent")),
              ElementsAre("stream 'one' and stream 'two'", "bucket 'one' and bucket 'two'"));
  EXPECT_THAT(shared(of("path_template: '{object}'")), Contains("object 'in/a b' and object 'in/a_b'"));
  // Objects of one topic have offsets of their own, so neither they nor their buckets meet.
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}/{object}', name_encoding: percent")), IsEmpty());
  EXPECT_THAT(shared(of("path_template: '{topic}/{object}', name_encoding: percent")),
              ElementsAre("stream 'one' and stream 'two'"));
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}/{object}'")),
              ElementsAre("topic 'a/b' and topic 'a_b'", "stream 'a/b' and stream 'a_b'"));
  EXPECT_THAT(shared(of("path_template: '{uuid}'")), IsEmpty());
  // One value as it stands in a key is one file, whatever it was spelled.
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}/{field.a}'")),
              ElementsAre("topic 'a/b' and topic 'a_b'", "stream 'a/b' and stream 'a_b'"));
}

// All that KeyPattern finds to run together, whatever stands between.
TEST_F(Explain, NamesThatRunTogetherAreTold) {
  EXPECT_THAT(shared(of("path_template: '{stream}-{date}-{topic}', name_encoding: percent")),
              ElementsAre("{stream} 'a-2026-03-16-b' and {topic} 'c' and {stream} 'a' and {topic} 'b-2026-03-16-c'"));
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}-{object.name}', name_encoding: percent")),
              ElementsAre("{topic} 'a-b' and {object.name} 'c' and {topic} 'a' and {object.name} 'b-c'"));
  EXPECT_THAT(shared(of("path_template: '{stream}/{topic}{object.dir}', name_encoding: percent")),
              ElementsAre("{topic} 'ab' and {object.dir} 'c' and {topic} 'a' and {object.dir} 'bc'"));
  EXPECT_THAT(shared(of("path_template: '{stream}-{topic}/{stream}', name_encoding: percent")), IsEmpty());
}

TEST_F(Explain, RotationInWords) {
  EXPECT_THAT(
      of("rotate_on: day").ends,
      ElementsAre("with the record that makes it 8.0 MiB as encoded (max_file_size)",
                  "5:00 after its first record (max_file_age)",
                  "when a record of one day more comes while 8 of a partition are open, and it was not used for "
                  "longest (max_open_files)",
                  "when open files hold more than 256.0 MiB of memory, and it is the largest (buffer_memory)",
                  "when its partition ends or is taken away, and when the run is stopped"));
  const Explanation seed = of("compat: iggy, file_rotation: messages, max_messages_per_file: 10");
  EXPECT_EQ(seed.ends.front(), "with 10 records (max_messages_per_file)");
  EXPECT_THAT(seed.notes, ElementsAre(HasSubstr("no file ends by time")));
  EXPECT_THAT(of("path_template: '{topic}/{uuid}', time_source: ingest").notes,
              ElementsAre(HasSubstr("{uuid}: a replay"), HasSubstr("time_source ingest")));
}

TEST_F(Explain, ExactlyOnceInWords) {
  const Explanation by_content = of("path_template: '{topic}', delivery: exactly_once, max_file_age: 0s");
  EXPECT_THAT(by_content.ends,
              ElementsAre("with the record that makes it 8.0 MiB as encoded (max_file_size)",
                          "when its partition ends; a stop leaves records of files that are not full to the next run "
                          "(delivery: exactly_once)"));
  EXPECT_THAT(
      by_content.notes,
      ElementsAre("delivery exactly_once: files end by their records alone, so a replay makes the same objects; "
                  "memory ends none (spool_dir keeps them on disk), and limits change only between runs that "
                  "ended by themselves"));
  const Explanation by_commits = of("path_template: '{topic}', delivery: exactly_once");
  EXPECT_THAT(by_commits.ends,
              ElementsAre("with the record that makes it 8.0 MiB as encoded (max_file_size)",
                          "5:00 after its first record (max_file_age)",
                          "when open files hold more than 256.0 MiB of memory, and it is the largest (buffer_memory)",
                          "when its partition ends or is taken away, and when the run is stopped"));
  EXPECT_THAT(by_commits.notes,
              ElementsAre("delivery exactly_once: a commit object for each partition, below _millrace/, says what is "
                          "written; one small put more for each object"));
}

TEST_F(Explain, ObjectsAndDiskEndFilesToo) {
  EXPECT_THAT(of("path_template: '{object}', spool_dir: /var/spool/m, max_file_idle: 30s").ends,
              ElementsAre("with the record that makes it 8.0 MiB as encoded (max_file_size)",
                          "5:00 after its first record (max_file_age)", "30.0 s after its last record (max_file_idle)",
                          "where the records of one object end (path_template names {object})",
                          "when open files hold more than 256.0 MiB of memory, once spool_dir is full (buffer_memory, "
                          "spool_dir)",
                          "when its partition ends or is taken away, and when the run is stopped"));
}

TEST_F(Explain, ASampleHasNoKeysAndNoHeaders) {
  EXPECT_THAT(of("path_template: '{topic}/{key}'").notes, IsEmpty()) << "none was given";
  records = {R"({"type":"x"})"};
  EXPECT_THAT(of("path_template: '{topic}/{field.type}'").notes, IsEmpty());
  for (const char* beside : {"{key}", "{header.tenant}"}) {
    const Explanation e = of(std::string("path_template: '{topic}/") + beside + "'");
    EXPECT_THAT(e.notes, ElementsAre(AllOf(HasSubstr("the records given have no {key}"), HasSubstr("null_fallback"))));
    EXPECT_THAT(e.fallbacks, ElementsAre(Pair(ErrorCode::missing_field, 1U)));
  }
  EXPECT_THAT(of("path_template: '{topic}/{key}', on_missing_field: fail").notes,
              ElementsAre(HasSubstr("count as bad")));
}

TEST_F(Explain, L03_TheRecordsGivenGoWhereARunPutsThem) {
  records = {R"({"type":"x"})", "", R"({"type":"y"})", R"({"type":"x"})", R"({"n":1})", "no json"};
  const Explanation e = of("path_template: '{topic}/{field.type}'");
  ASSERT_EQ(e.records.size(), 3U);
  EXPECT_EQ(e.records[0].records, 2U);
  EXPECT_EQ(e.records[0].key, "out/api_requests/x/00000-00000000000000000000-00000000000000000999.jsonl");
  EXPECT_EQ(e.records[1].first, 3U);
  EXPECT_THAT(e.records[2].key, HasSubstr("/__HIVE_DEFAULT_PARTITION__/"));
  EXPECT_THAT(e.fallbacks, ElementsAre(Pair(ErrorCode::malformed, 1U), Pair(ErrorCode::missing_field, 1U)));
  EXPECT_TRUE(e.ok());
  const Explanation strict = of("path_template: '{topic}/{field.type}', on_missing_field: fail");
  EXPECT_FALSE(strict.ok());
  EXPECT_THAT(strict.bad_records,
              ElementsAre(HasSubstr("line 5: the record names no key: {field.type}"), HasSubstr("line 6: ")));
}

TEST_F(Explain, AKeyThatCannotBeMadeIsSaid) {
  names.topic = std::string(2000, 't');
  const Explanation e = of("probe: true");
  EXPECT_FALSE(e.ok());
  EXPECT_THAT(e.keys[0].why_not, HasSubstr("1024"));
  EXPECT_THAT(explanation_text(e), HasSubstr("none: "));
}

TEST_F(Explain, TextAndJsonSayTheSame) {
  records = {R"({"type":"x"})"};
  const Explanation e = of("path_template: '{topic}/{field.type}'");
  const std::string text = explanation_text(e);
  const std::string json = explanation_json(e);
  for (const auto& one : e.keys) {
    EXPECT_THAT(text, HasSubstr(one.key));
    EXPECT_THAT(json, HasSubstr(one.key));
  }
  EXPECT_THAT(text,
              AllOf(HasSubstr("two partitions, or two files of one: no."), HasSubstr("1 record, the first in line 1"),
                    HasSubstr("name_encoding: percent"), Not(HasSubstr("bad"))));
  EXPECT_THAT(json, HasSubstr("\"ok\": true"));
}

}  // namespace
}  // namespace millrace::s3_sink
