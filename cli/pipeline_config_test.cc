// SPDX-License-Identifier: Apache-2.0
// A pipeline file as a whole: defaults equal to those of code, each section's keys, and every kind of mistake.
#include "cli/pipeline_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "millrace/config/describe.h"

namespace millrace::cli {
namespace {

struct FakeSource {
  std::string url;
  std::map<std::string, std::string> store;
};
struct FakeSink {
  Secret password;
  std::string on_upload_failure;
  std::string on_write_failure;
};

const Schema<FakeSource>& source_schema() {
  static const Schema<FakeSource> schema = [] {
    Schema<FakeSource> s("river", "A source.");
    s.required("url", &FakeSource::url, "Where.");
    s.optional("store", &FakeSource::store, "How.");
    return s;
  }();
  return schema;
}
const Schema<FakeSink>& sink_schema() {
  static const Schema<FakeSink> schema = [] {
    Schema<FakeSink> s("sea", "A sink.");
    s.optional("password", &FakeSink::password, "Who.");
    s.optional("on_upload_failure", &FakeSink::on_upload_failure, "What then.");
    s.optional("on_write_failure", &FakeSink::on_write_failure, "What then.");
    return s;
  }();
  return schema;
}

const Registry& registry() {
  static const Registry made = [] {
    Registry r;
    SourceKind source;
    source.name = "river";
    source.description = source_schema().description();
    source.validate = [](const ConfigSection& at) -> Result<void> {
      MILLRACE_TRY(source_schema().parse(at));
      return {};
    };
    source.payload_format = [](const ConfigSection& at) -> std::string {
      return at.child("url").text() == "rows" ? "csv" : "ndjson";
    };
    r.add(source);
    SinkKind sink;
    sink.name = "sea";
    sink.description = sink_schema().description();
    sink.validate = [](const ConfigSection& at) -> Result<void> {
      MILLRACE_TRY(sink_schema().parse(at));
      return {};
    };
    r.add(sink);
    return r;
  }();
  return made;
}

Config parsed(const std::string& yaml) {
  auto config = Config::parse(yaml, "p.yaml");
  EXPECT_TRUE(config) << (config ? "" : config.error().message());
  return config ? *std::move(config) : Config();
}

constexpr const char* kEnds = "source: {river: {url: x}}\nsink: {sea: {}}\n";

PipelineConfig accepted(const std::string& more) {
  const Config config = parsed(kEnds + more);
  auto read = PipelineConfig::read(config, registry());
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return read ? *std::move(read) : PipelineConfig{};
}
std::string refused(const std::string& yaml) {
  const auto read = PipelineConfig::read(parsed(yaml), registry());
  return read ? "accepted" : read.error().message();
}
std::string refused_too(const std::string& more) { return refused(kEnds + more); }

TEST(PipelineConfig, DefaultsAreThoseOfCode) {
  const PipelineConfig config = accepted("");
  const PipelineOptions made;
  EXPECT_EQ(config.pipeline.name, made.name);
  EXPECT_EQ(config.pipeline.threads, made.threads);
  EXPECT_EQ(config.pipeline.max_inflight_bytes, made.max_inflight_bytes);
  EXPECT_EQ(config.pipeline.drain_timeout, made.drain_timeout);
  EXPECT_EQ(config.pipeline.checkpoint_interval, made.checkpoint_interval);
  EXPECT_EQ(config.pipeline.max_pending_batches, made.max_pending_batches);
  EXPECT_EQ(config.pipeline.stalled_fail_after, made.stalled_fail_after);
  EXPECT_EQ(config.decode.kind, DecodeOptions::Kind::none);
  EXPECT_EQ(config.metrics.listen, "none");
  EXPECT_EQ(config.metrics.name_space, "etl");
  EXPECT_EQ(config.log.level, LogLevel::info);
  EXPECT_EQ(config.source->name, "river");
  EXPECT_EQ(config.source_section.path(), "source.river");
  EXPECT_EQ(config.sink->name, "sea");
}

TEST(PipelineConfig, EveryKeyReachesItsOption) {
  const PipelineConfig config = accepted(
      "pipeline: {name: daily, threads: 3, pin_threads: true, max_inflight_bytes: 1MiB, drain_timeout: 2s}\n"
      "checkpoint: {interval: 100ms, max_pending_batches: 7, stalled_fail_after: 0s}\n"
      "decode: {json: {on_error: skip, reject_duplicate_keys: true, framing: lines}}\n"
      "metrics: {listen: 127.0.0.1:0, namespace: mill, per_partition_detail: true}\n"
      "log: {level: debug, format: json}\n");
  EXPECT_EQ(config.pipeline.name, "daily");
  EXPECT_EQ(config.pipeline.threads, 3U);
  EXPECT_TRUE(config.pipeline.pin_threads);
  EXPECT_EQ(config.pipeline.max_inflight_bytes, 1U << 20U);
  EXPECT_EQ(config.pipeline.drain_timeout, Duration(std::chrono::seconds(2)));
  EXPECT_EQ(config.pipeline.checkpoint_interval, Duration(std::chrono::milliseconds(100)));
  EXPECT_EQ(config.pipeline.max_pending_batches, 7U);
  EXPECT_EQ(config.pipeline.stalled_fail_after, Duration(0));
  EXPECT_EQ(config.decode.kind, DecodeOptions::Kind::json);
  EXPECT_EQ(config.decode.on_error, OnError::skip);
  EXPECT_TRUE(config.decode.reject_duplicate_keys);
  EXPECT_EQ(config.decode.framing, decode::JsonFraming::lines);
  EXPECT_EQ(config.metrics.listen, "127.0.0.1:0");
  EXPECT_EQ(config.metrics.name_space, "mill");
  EXPECT_EQ(config.log.level, LogLevel::debug);
  EXPECT_EQ(config.log.format, LogFormat::json);
  EXPECT_EQ(accepted("decode: {text: {}}\n").decode.kind, DecodeOptions::Kind::text);
  EXPECT_EQ(accepted("decode: {raw: {}}\n").decode.kind, DecodeOptions::Kind::raw);
}

TEST(PipelineConfig, RowsOfASourceBecomeObjectsWithoutASection) {
  const auto decode_of = [](const std::string& more) {
    const Config config = parsed("source: {river: {url: rows}}\nsink: {sea: {}}\n" + more);
    const auto read = PipelineConfig::read(config, registry());
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    return read ? read->decode : DecodeOptions{};
  };
  EXPECT_EQ(decode_of("").kind, DecodeOptions::Kind::csv);
  EXPECT_EQ(decode_of("").types, CsvTypes::strings);
  EXPECT_EQ(decode_of("").on_error, OnError::fail);
  EXPECT_EQ(decode_of("decode: {csv: {types: infer, on_error: skip}}\n").types, CsvTypes::infer);
  EXPECT_EQ(decode_of("decode: {csv: {types: infer, on_error: skip}}\n").on_error, OnError::skip);
  EXPECT_EQ(decode_of("decode: {raw: {}}\n").kind, DecodeOptions::Kind::raw);
  EXPECT_EQ(decode_of("decode: {text: {}}\n").kind, DecodeOptions::Kind::text);
}

TEST(PipelineConfigRefuses, ADecoderThatCannotReadWhatTheSourceGives) {
  EXPECT_EQ(
      refused("source: {river: {url: rows}}\nsink: {sea: {}}\ndecode: {json: {}}\n"),
      "p.yaml:3:10: decode.json: the source gives rows (format: csv), which are no JSON; leave decode out, or write "
      "decode.csv, to make objects of them");
  EXPECT_EQ(refused_too("decode: {csv: {}}\n"),
            "p.yaml:3:10: decode.csv: reads the rows of a source with format: csv; its format is 'ndjson'");
}

TEST(PipelineConfigRefuses, SectionsOfLaterVersionsByName) {
  EXPECT_EQ(refused_too("sinks: {}\n"),
            "p.yaml:3:1: sinks: this version of millrace does not have it yet; write one `sink:`");
}

TEST(PipelineConfig, ADeadLetterPlaceIsAnySink) {
  const PipelineConfig config = accepted("decode: {json: {on_error: skip}}\ndead_letter: {sea: {}}\n");
  ASSERT_NE(config.dead_letter, nullptr);
  EXPECT_EQ(config.dead_letter->name, "sea");
  EXPECT_EQ(config.dead_letter_section.path(), "dead_letter.sea");
  EXPECT_EQ(accepted("").dead_letter, nullptr);
  EXPECT_TRUE(is_secret_path(registry(), "dead_letter.sea.password"));
}

TEST(PipelineConfig, ADeadLetterPlaceForWhatTheSinkGivesUp) {
  for (const std::string key : {"on_upload_failure", "on_write_failure"}) {
    const Config config =
        parsed("source: {river: {url: x}}\nsink: {sea: {" + key + ": drop}}\ndead_letter: {sea: {}}\n");
    const auto read = PipelineConfig::read(config, registry());
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    EXPECT_THAT(refused_too("decode: {json: {on_error: skip}}\ndead_letter: {sea: {" + key + ": drop}}\n"),
                testing::AllOf(testing::StartsWith("p.yaml:4:"),
                               testing::HasSubstr("dead_letter.sea." + key +
                                                  ": a dead letter that is dropped would be kept nowhere; use "
                                                  "stall or fail")));
  }
}

TEST(PipelineConfigRefuses, ADeadLetterPlaceThatNothingWouldReach) {
  EXPECT_EQ(
      refused_too("dead_letter: {sea: {}}\n"),
      "p.yaml:3:1: dead_letter: has no effect: payloads pass unread, so a bad record cannot be skipped; read them "
      "with decode, or remove the section");
  EXPECT_EQ(refused_too("decode: {json: {}}\ndead_letter: {sea: {}}\n"),
            "p.yaml:4:1: dead_letter: has no effect: a bad record ends the run; set decode.json.on_error: skip, or "
            "remove the section");
  EXPECT_EQ(refused_too("decode: {text: {on_error: skip}}\ndead_letter: {}\n"),
            "p.yaml:4:14: dead_letter: holds exactly one of sea");
  EXPECT_EQ(refused_too("decode: {text: {on_error: skip}}\ndead_letter: {see: {}}\n"),
            "p.yaml:4:15: dead_letter.see: unknown; did you mean 'sea'?");
  EXPECT_EQ(refused_too("decode: {text: {on_error: skip}}\ndead_letter: {sea: {passwrd: x}}\n"),
            "p.yaml:4:21: dead_letter.sea.passwrd: unknown key; did you mean 'password'?");
}

TEST(PipelineConfigRefuses, UnknownSectionsAndConnectors) {
  EXPECT_EQ(refused_too("pipelines: {}\n"), "p.yaml:3:1: pipelines: unknown key; did you mean 'pipeline'?");
  EXPECT_EQ(refused("source: {rivre: {}}\nsink: {sea: {}}\n"),
            "p.yaml:1:10: source.rivre: unknown; did you mean 'river'?");
  EXPECT_EQ(refused("source: {river: {url: x}}\nsink: {kafka: {}}\n"),
            "p.yaml:2:8: sink.kafka: unknown; known are sea");
  EXPECT_EQ(refused("source: {river: {url: x}, more: {}}\nsink: {}\n"),
            "p.yaml:1:9: source: holds exactly one of river\n"
            "p.yaml:2:7: sink: holds exactly one of sea");
  EXPECT_EQ(refused("source: {river: {url: x}}\n"), "p.yaml:1:1: sink: is required: one of sea");
  EXPECT_EQ(refused("source: river\nsink: {sea:}\n"),
            "p.yaml:1:9: source: holds exactly one of river\n"
            "p.yaml:2:8: sink.sea: expects a section, found nothing (null); write {} for one with all defaults");
}

TEST(PipelineConfigRefuses, ValuesOutOfRange) {
  EXPECT_NE(refused_too("checkpoint: {interval: 99ms}\n").find("at least 100ms is allowed"), std::string::npos);
  EXPECT_NE(refused_too("checkpoint: {max_pending_batches: 0}\n").find("at least 1 is allowed"), std::string::npos);
  EXPECT_NE(refused_too("pipeline: {max_inflight_bytes: 0}\n").find("out of range"), std::string::npos);
  EXPECT_NE(refused_too("pipeline: {drain_timeout: 0s}\n").find("out of range"), std::string::npos);
  EXPECT_NE(refused_too("pipeline: {name: \" \"}\n").find("p.yaml:3:18: pipeline.name: cannot be blank"),
            std::string::npos);
  EXPECT_NE(refused_too("metrics: {namespace: 9x}\n").find("make a metric's name"), std::string::npos);
}

TEST(PipelineConfigRefuses, AnAddressThatIsNone) {
  EXPECT_EQ(refused_too("metrics: {listen: ~}\n"),
            "p.yaml:3:11: metrics.listen: expects an address such as 127.0.0.1:9464, or none");
  EXPECT_THAT(refused_too("metrics: {listen: nowhere}\n"), testing::StartsWith("p.yaml:3:19: metrics.listen: "));
  EXPECT_THAT(refused_too("metrics: {listen: \"127.0.0.1:99999\"}\n"), testing::HasSubstr("127.0.0.1:99999"));
  EXPECT_EQ(accepted("metrics: {listen: 9464}\n").metrics.listen, "9464");
}

TEST(PipelineConfigRefuses, EverythingTogetherInFileOrderOfSections) {
  EXPECT_EQ(refused("pipeline: {nam: x}\nsource: {river: {}}\nsink: {sea: {passwrd: x}}\nlog: {level: loud}\n"),
            "p.yaml:1:12: pipeline.nam: unknown key; did you mean 'name'?\n"
            "p.yaml:2:10: source.river.url: is required: Where.\n"
            "p.yaml:3:14: sink.sea.passwrd: unknown key; did you mean 'password'?\n"
            "p.yaml:4:14: log.level: expects one of debug|info|warn|error|off, found 'loud'");
}

TEST(PipelineConfig, SecretsByPath) {
  EXPECT_TRUE(is_secret_path(registry(), "sink.sea.password"));
  EXPECT_FALSE(is_secret_path(registry(), "source.river.url"));
  EXPECT_FALSE(is_secret_path(registry(), "source.river.store.region"));
  EXPECT_FALSE(is_secret_path(registry(), "source.river.store.AWS_Region"));
  EXPECT_TRUE(is_secret_path(registry(), "source.river.store.aws-secret-access-key"));
  EXPECT_TRUE(
      is_secret_path(registry(), "source.river.store.secret_acess_key"));  // misspelt, and a secret all the same
}

// `--set` takes mappings and lists: the secret may stand anywhere inside.
TEST(PipelineConfig, SecretsInsideOfAChange) {
  const auto hidden = [](const std::string& path, const std::string& value) {
    return holds_secret(registry(), path, value);
  };
  EXPECT_TRUE(hidden("sink.sea.password", "hunter2"));
  EXPECT_TRUE(hidden("sink.sea", "{password: hunter2}"));
  EXPECT_TRUE(hidden("sink", "{sea: {password: hunter2}}"));
  EXPECT_TRUE(hidden("source.river.store", "{region: r, secret_access_key: hunter2}"));
  EXPECT_TRUE(hidden("source.river", "{url: x, store: {AWS-Secret-Access-Key: hunter2}}"));
  EXPECT_TRUE(hidden("source", "{river: {url: x, store: {token: hunter2}}}"));
  EXPECT_TRUE(hidden("source.river.store", "{region: [a, {secret_access_key: hunter2}]}"));
  EXPECT_TRUE(hidden("source.river.store", "{not yaml: [}"));
  EXPECT_FALSE(hidden("source.river.store", "{region: r, aws_endpoint_url: \"https://h\"}"));
  EXPECT_FALSE(hidden("source.river.url", "{topic}/x"));
  EXPECT_FALSE(hidden("pipeline.name", "daily"));
}

TEST(PipelineConfig, TheFileAsASchema) {
  const auto schema = nlohmann::json::parse(describe_json_schema(describe_pipeline_file(registry())));
  EXPECT_EQ(schema["required"], nlohmann::json::array({"source", "sink"}));
  EXPECT_EQ(schema["properties"]["source"]["maxProperties"], 1);
  EXPECT_EQ(schema["properties"]["source"]["properties"]["river"]["required"], nlohmann::json::array({"url"}));
  EXPECT_TRUE(schema["properties"]["decode"]["properties"].contains("json"));
  EXPECT_EQ(schema["additionalProperties"], false);
}

}  // namespace
}  // namespace millrace::cli
