// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/sink_options_fixture.h"

namespace millrace::s3_sink {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(S3SinkOptions, Defaults) {
  const CheckedOptions o = accepted(kPlace);
  EXPECT_EQ(o.base.to_string(), "s3://b/out");
  EXPECT_EQ(o.probe_key, "out/.millrace-probe");
  EXPECT_TRUE(o.probe);
  EXPECT_EQ(o.if_exists, IfExists::verify);
  EXPECT_EQ(o.seal.max_bytes, 8U * 1024 * 1024);
  EXPECT_EQ(o.seal.max_records, 0U);
  EXPECT_EQ(o.seal.max_age, std::chrono::minutes(5));
  EXPECT_EQ(o.seal.max_idle, Duration(0));
  EXPECT_FALSE(o.seal.per_object);
  EXPECT_EQ(o.encode.format, EncodeFormat::json_lines);
  EXPECT_TRUE(o.encode.wrap);
  EXPECT_TRUE(o.encode.include_metadata);
  EXPECT_FALSE(o.encode.include_headers);
  EXPECT_EQ(o.envelope.header, "");
  EXPECT_EQ(o.retry.max_attempts, 3);
  EXPECT_EQ(o.retry.backoff.initial, std::chrono::seconds(1));
  EXPECT_EQ(o.retry.backoff.cap, std::chrono::seconds(60));
  EXPECT_EQ(o.retry.on_failure, OnWriteFailure::stall);
  EXPECT_EQ(o.traits.concurrency, 4U);
  EXPECT_FALSE(o.traits.ordered);
  const Origin origin{.stream = "s", .topic = "t"};
  EXPECT_EQ(*o.keys.render({&origin, "p", PartitionId(3), Offset(1), Offset(2), 0}),
            "out/s/t/1970-01-01/00/00003-00000000000000000001-00000000000000000002.jsonl");
}

// Options made in code and in YAML are the same.
TEST(S3SinkOptions, CodeAndYamlAgree) {
  S3SinkOptions made;
  made.url = "s3://b/out";
  const auto o = check(made);
  ASSERT_TRUE(o) << o.error().message();
  EXPECT_EQ(o->probe_key, accepted(kPlace).probe_key);
  made.output_format = OutputFormat::raw;
  EXPECT_THAT(check(made).error().message(), HasSubstr("sink.s3.delimiter: is required with raw"));
}

// The seed's configuration, in our terms.
TEST(S3SinkOptions, TheSeedsConfiguration) {
  const CheckedOptions o = accepted(
      "bucket: my-data-lake\nprefix: iggy/raw\nregion: us-east-1\npath_template: \"{stream}/{topic}/{date}/{hour}\"\n"
      "file_rotation: size\nmax_file_size: 8MiB\noutput_format: json_lines\n");
  EXPECT_EQ(o.base.to_string(), "s3://my-data-lake/iggy/raw");
  EXPECT_EQ(o.store.get("region"), "us-east-1");
  const CheckedOptions minio = accepted(
      "bucket: my-bucket\nregion: us-east-1\nendpoint: http://localhost:9000\naccess_key_id: minioadmin\n"
      "secret_access_key: minioadmin\nfile_rotation: messages\nmax_messages_per_file: 1\noutput_format: json_lines\n");
  EXPECT_EQ(minio.seal.max_records, 1U);
  EXPECT_EQ(minio.store.get("endpoint"), "http://localhost:9000");
  EXPECT_EQ(minio.store.get("secret_access_key"), "minioadmin");
  EXPECT_EQ(minio.base.key, "");
  EXPECT_EQ(minio.probe_key, ".millrace-probe");
}

TEST(S3SinkOptions, ThePlaceIsGivenOnce) {
  EXPECT_THAT(refused("region: x\n"), HasSubstr("sink.s3.url: is missing"));
  EXPECT_THAT(refused(with("bucket: b\n")), HasSubstr("keep one of them"));
  EXPECT_THAT(refused(with("prefix: p\n")), HasSubstr("p.yaml:4:13: sink.s3.prefix: belongs to bucket"));
  EXPECT_THAT(refused("bucket: b/p\n"), HasSubstr("sink.s3.bucket: is a name without slashes"));
  EXPECT_THAT(refused("url: http://h/b\n"),
              HasSubstr("p.yaml:3:10: sink.s3.url: http://h/b: give the bucket as s3://"));
  EXPECT_THAT(refused("bucket: b\nprefix: a/../b\n"), HasSubstr("sink.s3.prefix: holds a '.' or '..' segment"));
  EXPECT_THAT(refused("url: s3://b/a/./b\n"), HasSubstr("sink.s3.url: holds a '.' or '..' segment"));
  EXPECT_EQ(accepted("bucket: b\nprefix: /a//b/\n").base.key, "a//b");
  EXPECT_EQ(accepted("url: file:///data/out/\n").base.key, "data/out");
}

TEST(S3SinkOptions, NamesOfChoicesHaveNoCase) {
  EXPECT_EQ(accepted(with("output_format: JSONL\n")).encode.format, EncodeFormat::json_lines);
  EXPECT_EQ(accepted(with("output_format: JsonLines\n")).encode.format, EncodeFormat::json_lines);
  EXPECT_EQ(accepted(with("file_rotation: MESSAGES\nmax_messages_per_file: 10\n")).seal.max_records, 10U);
  const CheckedOptions array = accepted(with("output_format: JSON_ARRAY\n"));
  EXPECT_EQ(array.encode.format, EncodeFormat::json_array);
  EXPECT_EQ(array.envelope.header + "x" + array.envelope.separator + "y" + array.envelope.footer, "[x,y]");
  EXPECT_THAT(refused(with("output_format: json\n")), HasSubstr("json_lines|json_array|raw"));
}

// iggy-s3-sink-review: no fallback to a default, and no limit of u64::MAX by omission.
TEST(S3SinkOptions, MessagesNeedTheirNumber) {
  EXPECT_THAT(refused(with("file_rotation: messages\n")), HasSubstr("sink.s3.max_messages_per_file: is required"));
  EXPECT_THAT(refused(with("file_rotation: messages\nmax_messages_per_file: 0\n")), HasSubstr("at least 1"));
  EXPECT_THAT(refused(with("max_messages_per_file: 0\n")), HasSubstr("at least 1"));
  EXPECT_THAT(refused(with("max_file_size: lots\n")), HasSubstr("p.yaml:4:20: sink.s3.max_file_size"));
  EXPECT_THAT(refused(with("max_file_size: 0\n")), HasSubstr("out of range"));
  EXPECT_THAT(refused(with("max_file_size: 6TiB\n")), HasSubstr("out of range"));
  EXPECT_THAT(refused(with("retry_delay: soon\n")), HasSubstr("sink.s3.retry_delay"));
  EXPECT_THAT(refused(with("retry_delay: 5\n")), HasSubstr("sink.s3.retry_delay"));
  EXPECT_EQ(accepted(with("max_file_age: 0s\n")).seal.max_age, Duration(0));
}

TEST(S3SinkOptions, Attempts) {
  EXPECT_EQ(accepted(with("max_attempts: 0\n")).retry.max_attempts, 1);
  EXPECT_EQ(accepted(with("max_attempts: 1\n")).retry.max_attempts, 1);
  EXPECT_EQ(accepted(with("max_retries: 7\n")).retry.max_attempts, 7);
  EXPECT_THAT(refused(with("max_retries: 7\nmax_attempts: 7\n")), HasSubstr("keep one of them"));
  EXPECT_EQ(accepted(with("retry_delay: 0s\n")).retry.backoff.initial, Duration(0));
  EXPECT_EQ(accepted(with("retry_delay: 2m\n")).retry.backoff.cap, std::chrono::minutes(2));
}

TEST(S3SinkOptions, ADeadlineEndsTriesThatEnd) {
  EXPECT_EQ(accepted(with("upload_deadline: 5m\non_upload_failure: fail\n")).retry.deadline, std::chrono::minutes(5));
  EXPECT_EQ(accepted(kPlace).retry.deadline, Duration(0));
  EXPECT_THAT(refused(with("upload_deadline: 5m\n")), HasSubstr("sink.s3.upload_deadline: has a meaning with"));
}

TEST(S3SinkOptions, C15_RawNeedsADelimiter) {
  EXPECT_THAT(refused(with("output_format: raw\n")), HasSubstr("sink.s3.delimiter: is required with raw"));
  const CheckedOptions o = accepted(with("output_format: raw\ndelimiter: \"\\n\"\n"));
  EXPECT_EQ(o.encode.format, EncodeFormat::raw);
  EXPECT_EQ(o.encode.delimiter, "\n");
  EXPECT_FALSE(o.encode.wrap);
  EXPECT_EQ(accepted(with("output_format: raw\ndelimiter: \"\"\n")).encode.delimiter, "");
  EXPECT_THAT(refused(with("delimiter: \"\\n\"\n")), HasSubstr("output_format raw only"));
}

TEST(S3SinkOptions, NothingIsIgnored) {
  const std::string raw = with("output_format: raw\ndelimiter: \"\"\n");
  EXPECT_THAT(refused(raw + "include_metadata: true\n"), HasSubstr("sink.s3.include_metadata: has no effect"));
  EXPECT_EQ(refused(raw + "include_metadata: false\n"), "accepted");
  EXPECT_THAT(refused(raw + "include_headers: true\n"), HasSubstr("sink.s3.include_headers: has no effect"));
  EXPECT_THAT(refused(with("wrap: false\nmark_encoding: true\n")), HasSubstr("sink.s3.mark_encoding: has no effect"));
  EXPECT_THAT(refused(with("wrap: false\ntimestamp_precision: 3\n")), HasSubstr("has no effect"));
  EXPECT_THAT(refused(with("include_metadata: false\ntimestamp_precision: 3\n")), HasSubstr("has no effect"));
  EXPECT_THAT(refused(with("timestamp_precision: 4\n")), HasSubstr("0, 3, 6 or 9"));
  EXPECT_THAT(refused(with("probe: false\nprobe_key: x\n")), HasSubstr("has no effect with probe false"));
  EXPECT_THAT(refused(with("extension: a/b\n")), HasSubstr("sink.s3.extension"));
  EXPECT_THAT(refused(with("extension: .ndjson\n")), HasSubstr("without the dot"));
  for (const char* suffix : {"zst", "\".g\\nz\"", "./x", "\".\\0\""}) {
    EXPECT_THAT(refused(with(std::string("compression: zstd\ncompression_suffix: ") + suffix + "\n")),
                HasSubstr("sink.s3.compression_suffix: is a dot and letters"))
        << suffix;
  }
  accepted(with("compression: zstd\ncompression_suffix: ''\n"));
  EXPECT_EQ(accepted(with("on_upload_failure: drop\n")).retry.on_failure, OnWriteFailure::drop);
}

TEST(S3SinkOptions, NamesThatOneMightTrySayWhatIsMeant) {
  EXPECT_THAT(refused(with("exactly_once: true\n")),
              HasSubstr("p.yaml:4:5: sink.s3.exactly_once: is written `delivery: exactly_once`"));
  EXPECT_THAT(refused(with("timeout: 5s\n")), HasSubstr("store: {timeout: 30s}"));
  EXPECT_THAT(refused(with("deadline: 5s\n")), HasSubstr("is called upload_deadline"));
  EXPECT_THAT(refused(with("comprssion: gzip\n")), HasSubstr("unknown key"));
}

// Whether a replay makes the same files decides what has to be kept of them.
TEST(S3SinkOptions, ExactlyOnceByContentOrByCommitObjects) {
  EXPECT_FALSE(accepted(kPlace).seal.by_content);
  EXPECT_FALSE(accepted(kPlace).traits.recalls);
  EXPECT_FALSE(accepted(with("max_file_age: 0s\n")).seal.by_content) << "only where it was asked for";
  for (const char* keys : {"max_file_age: 0s\n", "max_file_age: 0s\nrotate_on: hour\nmax_open_files: 1\n"}) {
    const CheckedOptions by_content = accepted(with(std::string("delivery: exactly_once\n") + keys));
    EXPECT_TRUE(by_content.seal.by_content) << keys;
    EXPECT_FALSE(by_content.traits.recalls) << keys;
  }
  const std::string routed = "path_template: \"{topic}/{field.x}\"\n";
  for (const std::string& keys :
       {std::string(), std::string("max_file_age: 0s\nmax_file_idle: 1s\n"),
        std::string("max_file_age: 0s\nrotate_on: day\n"), "max_file_age: 0s\nmax_open_files: 1\n" + routed}) {
    const CheckedOptions by_notes = accepted(with("delivery: exactly_once\n" + keys));
    EXPECT_FALSE(by_notes.seal.by_content) << keys;
    EXPECT_TRUE(by_notes.traits.recalls && by_notes.traits.ordered) << keys;
  }
}

// Files that are told apart otherwise are never compared: every setting that makes their series has its word in it.
TEST(S3SinkOptions, ExactlyOnceSaysHowFilesAreToldApart) {
  const auto by = [](const std::string& keys) { return accepted(with("delivery: exactly_once\n" + keys)).files_by; };
  EXPECT_EQ(by(""), "nothing");
  EXPECT_EQ(by("rotate_on: hour\n"), "the hour");
  EXPECT_EQ(by("rotate_on: day\n"), "the day");
  const std::string routed = "path_template: \"{topic}/{field.x}\"\n";
  EXPECT_EQ(by(routed),
            "the values in {topic}/{field.x} (name_encoding replace, null_fallback __HIVE_DEFAULT_PARTITION__)");
  EXPECT_EQ(by(routed + "rotate_on: hour\nname_encoding: percent\nnull_fallback: none\n"),
            "the hour and the values in {topic}/{field.x} (name_encoding percent, null_fallback none)");
}

TEST(S3SinkOptions, ExactlyOnceIsRefusedWhereItCannotHold) {
  const auto refused_with = [](const std::string& keys) { return refused(with("delivery: exactly_once\n" + keys)); };
  EXPECT_THAT(refused_with("if_exists: overwrite\n"), HasSubstr("sink.s3.if_exists: must be verify"));
  EXPECT_THAT(refused_with("if_exists: fail\n"), HasSubstr("sink.s3.if_exists: must be verify"));
  EXPECT_THAT(refused_with("time_source: ingest\n"), HasSubstr("sink.s3.time_source: must be message"));
  EXPECT_THAT(refused_with("probe: false\n"), HasSubstr("sink.s3.probe: must be true"));
  EXPECT_THAT(refused_with("on_upload_failure: drop\n"), HasSubstr("sink.s3.on_upload_failure: must be stall or fail"));
  S3SinkOptions sink;
  sink.url = "s3://b/out";
  const auto refused_beside = [&](const std::string& gap, bool receipt, bool others) {
    const auto checked = S3Sink::check_exactly_once(sink, gap, receipt, others);
    return checked ? std::string("accepted") : checked.error().message();
  };
  EXPECT_EQ(refused_beside("never the same", true, true), "accepted") << "at_least_once";
  sink.delivery = Delivery::exactly_once;
  EXPECT_THAT(refused_beside("never the same", false, false), HasSubstr("cannot hold here: never the same"));
  EXPECT_THAT(refused_beside("", true, false), HasSubstr("receipt"));
  EXPECT_EQ(refused_beside("", false, true), "accepted");
  sink.max_file_age = Duration::zero();
  EXPECT_EQ(refused_beside("", true, false), "accepted");
  EXPECT_THAT(refused_beside("", false, true), HasSubstr("dead_letter"));
  EXPECT_THAT(S3Sink::check_holds_letters(sink).error().message(), HasSubstr("at least once"));
  EXPECT_THAT(refused_with("compat: iggy\n"), HasSubstr("sink.s3.compat: has no place"));
  EXPECT_THAT(refused_with("path_template: \"{topic}/{uuid}\"\n"), HasSubstr("{uuid}"));
}

TEST(S3SinkOptions, TimeSource) {
  EXPECT_EQ(accepted(kPlace).time_source, TimeSource::message);
  EXPECT_EQ(accepted(with("time_source: Ingest\n")).time_source, TimeSource::ingest);
  EXPECT_THAT(refused(with("time_source: wallclock\n")), HasSubstr("message|ingest"));
  const CheckedOptions hourly = accepted(with("time_source: ingest\nrotate_on: hour\n"));
  EXPECT_TRUE(hourly.seal.by_arrival);
  EXPECT_EQ(hourly.seal.max_open, 1U);
  EXPECT_FALSE(accepted(with("rotate_on: hour\n")).seal.by_arrival);
}

TEST(S3SinkOptions, CredentialsComeTogetherAndStaySecret) {
  EXPECT_THAT(refused(with("access_key_id: AKIASECRET\n")),
              AllOf(HasSubstr("give both access_key_id and secret_access_key"), Not(HasSubstr("AKIASECRET"))));
  EXPECT_THAT(refused(with("secret_access_key: s3cr3t\n")),
              AllOf(HasSubstr("sink.s3.access_key_id: is missing"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(refused(with("session_token: s3cr3t\n")), AllOf(HasSubstr("session_token"), Not(HasSubstr("s3cr3t"))));
  const CheckedOptions o = accepted(with("access_key_id: a\nstore: {secret_access_key: b, token: c}\n"));
  EXPECT_EQ(o.store.get("session_token"), "c");
  EXPECT_THAT(refused(with("access_key_id: a\nstore: {AWS-Access-Key-Id: s3cr3t}\n")),
              AllOf(HasSubstr("sink.s3.access_key_id: is the same option as store.AWS-Access-Key-Id"),
                    Not(HasSubstr("s3cr3t"))));
  for (const OptionDescription& option : schema().description().options) {
    const bool secret =
        option.name == "access_key_id" || option.name == "secret_access_key" || option.name == "session_token";
    EXPECT_EQ(option.secret, secret) << option.name;
  }
}

TEST(S3SinkOptions, StoreOptionsAreChecked) {
  EXPECT_THAT(refused(with("store: {regoin: x}\n")), HasSubstr("did you mean 'region'?"));
  EXPECT_THAT(refused(with("store: {bucket: x}\n")), HasSubstr("part of the url"));
  EXPECT_THAT(refused(with("store: {s3_express: yes}\n")),
              HasSubstr("sink.s3.store: store.s3_express is not available"));
  EXPECT_THAT(refused(with("store: {max_retries: \"3\"}\n")), HasSubstr("max_attempts"));
  EXPECT_THAT(refused(with("endpoint: http://127.0.0.1:9000\npath_style: false\n")),
              HasSubstr("sink.s3.store: store.virtual_hosted_style_request"));
  EXPECT_THAT(refused(with("endpoint: http://minio:9000\n")), HasSubstr("allow_http"));
  EXPECT_EQ(accepted(with("path_style: true\n")).store.get("virtual_hosted_style_request"), "false");
  EXPECT_EQ(accepted(with("path_style: false\n")).store.get("virtual_hosted_style_request"), "true");
  EXPECT_FALSE(accepted(kPlace).store.has("virtual_hosted_style_request"));
}

TEST(S3SinkOptions, L04_TheTemplateIsCheckedAtLoad) {
  EXPECT_THAT(refused(with("path_template: \"{strem}/{topic}\"\n")),
              HasSubstr("p.yaml:4:20: sink.s3.path_template: at character 1: unknown placeholder {strem}"));
  for (const char* hidden : {".new/{topic}", "{topic}/.new"}) {
    const std::string line = "path_template: \"" + std::string(hidden) + "\"\n";
    EXPECT_THAT(refused("url: file:///out/\n" + line), HasSubstr("begins with a dot")) << hidden;
    accepted(with(line));
  }
  EXPECT_THAT(refused(with("path_template: \"{date}\"\n")), HasSubstr("two sources could write one key"));
  EXPECT_TRUE(accepted(with("path_template: \"{object.dir}/{topic}\"\n")).seal.per_object);
}

// What comes of records without the value is said where there is a value, and only there.
TEST(S3SinkOptions, L03_TheFallbackIsChosenWithItsVariables) {
  const std::string routed = with("path_template: \"{topic}/{field.a}\"\n");
  const CheckedOptions o = accepted(routed);
  EXPECT_EQ(o.keys.route().fallback, "__HIVE_DEFAULT_PARTITION__");
  EXPECT_EQ(o.keys.route().on_missing, RouteSpec::OnMissing::fallback);
  EXPECT_EQ(o.seal.max_open, 64U);
  EXPECT_EQ(accepted(routed + "max_open_files: 3\n").seal.max_open, 3U);
  EXPECT_EQ(accepted(routed + "max_open_files: 10000\n").seal.max_open, 10'000U);
  EXPECT_EQ(accepted(routed + "null_fallback: none\n").keys.route().fallback, "none");
  EXPECT_EQ(accepted(routed + "on_missing_field: fail\n").keys.route().on_missing, RouteSpec::OnMissing::fail);
  EXPECT_THAT(refused(routed + "on_missing_field: fail\nnull_fallback: none\n"), HasSubstr("remove one of them"));
  EXPECT_THAT(refused(routed + "on_missing_field: skip\n"), HasSubstr("fallback|fail"));
  for (const char* name : {"''", "a/b", "..", "\"a b\""}) {
    EXPECT_THAT(refused(routed + "null_fallback: " + name + "\n"), HasSubstr("sink.s3.null_fallback: is letters"))
        << name;
    EXPECT_THAT(refused(routed + "on_missing_field: fail\nnull_fallback: " + name + "\n"), Not(HasSubstr("is letters")))
        << "nothing stands for a value";
  }
  // It has the same bound as any value (255 bytes, or less where the key has less room for it).
  EXPECT_EQ(accepted(routed + "null_fallback: " + std::string(255, 'x') + "\n").keys.route().fallback.size(), 255U);
  EXPECT_THAT(refused(routed + "null_fallback: " + std::string(256, 'x') + "\n"), HasSubstr("at most 255 "));
  accepted(routed + "null_fallback: .x\n");
  EXPECT_THAT(refused("url: file:///out/\npath_template: \"{topic}/{field.a}\"\nnull_fallback: .x\n"),
              HasSubstr("hides"));
  for (const char* line : {"on_missing_field: fail\n", "null_fallback: x\n", "max_open_files: 4\n"}) {
    EXPECT_THAT(refused(with(line)), HasSubstr("has no effect without")) << line;
  }
  EXPECT_EQ(accepted(with("rotate_on: hour\n")).seal.max_open, 8U);
}

TEST(S3SinkOptions, AllProblemsAtOnce) {
  EXPECT_THAT(refused(with("output_format: raw\nfile_rotation: messages\npath_template: \"{x}/{topic}\"\n")),
              AllOf(HasSubstr("delimiter"), HasSubstr("max_messages_per_file"), HasSubstr("{x}")));
}

}  // namespace
}  // namespace millrace::s3_sink
