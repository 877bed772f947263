// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/sink_metrics.h"
#include "connectors/kafka/writer.h"
#include "millrace/base/printable.h"
#include "millrace/connectors/kafka.h"
#include "millrace/connectors/write_failure.h"

namespace millrace {

namespace kafka {
namespace {

class TopicSink final : public Sink {
 public:
  explicit TopicSink(KafkaSinkOptions options) : options_(std::move(options)) {}

  std::string_view type() const override { return "kafka"; }
  SealPolicy seal_policy() const override {
    SealPolicy policy;
    policy.max_bytes = options_.batch_bytes.bytes;
    policy.max_records = options_.batch_records;
    policy.uncounted = encode::kFrameBytes;
    policy.max_age = options_.linger;
    return policy;
  }
  EncodeSpec encode_spec() const override {
    EncodeSpec spec;
    spec.format = EncodeFormat::framed;
    spec.max_record_bytes = options_.max_record_bytes.bytes;
    return spec;
  }
  RetryPolicy retry_policy() const override {
    RetryPolicy policy;
    // The library waits between its own tries; a new one finds out at once whether the brokers are back.
    policy.backoff = {std::chrono::milliseconds(100), std::chrono::seconds(1), 2.0};
    policy.max_attempts = static_cast<int>(options_.max_attempts);
    policy.on_failure = options_.on_write_failure;
    return policy;
  }
  SinkTraits traits() const override {
    // Of each record the library's own account, and its bytes: as they wait, as they are sent, and packed.
    const std::uint64_t bytes = options_.batch_bytes.bytes + options_.max_record_bytes.bytes;
    return {.concurrency = options_.write_concurrency,
            .ordered = true,
            .writes_time_out = true,
            .writer_memory = options_.batch_records * kAccountOfARecord + 3 * bytes};
  }

  Result<void> open(SinkContext context) override {
    MILLRACE_ASSIGN(metrics_, SinkMetrics::make(context.meter));
    MILLRACE_TRY(look_for_topic(context));
    context_ = std::move(context);
    return {};
  }

  Result<std::unique_ptr<Writer>> make_writer() override {
    MILLRACE_ASSIGN(auto writer, TopicWriter::make({.options = options_,
                                                    .pipeline = context_.pipeline,
                                                    .metrics = metrics_,
                                                    .log = context_.log,
                                                    .clock = context_.clock}));
    return writer;
  }

 private:
  /// Before a record moves: the brokers answer, and have the topic.
  Result<void> look_for_topic(const SinkContext& context) const {
    MILLRACE_ASSIGN(ConfHandle conf, sink_conf(options_, context.pipeline));
    MILLRACE_ASSIGN(const auto client, Client::make(RD_KAFKA_PRODUCER, std::move(conf), context.log, nullptr));
    const TopicHandle topic(rd_kafka_topic_new(client->get(), options_.topic.c_str(), nullptr));
    const SteadyTime until = context.clock->now() + options_.connect_timeout;
    for (;;) {
      rd_kafka_poll(client->get(), 0);
      Result<void> looked = look_once(client->get(), topic.get());
      if (looked || !looked.error().is_retryable()) return looked;
      if (auto fatal = client->fatal()) return fail(*std::move(fatal));
      if (auto refused = client->refused()) return fail(*std::move(refused));
      if (context.stop_requested && context.stop_requested()) {
        return fail(stopped_unanswered());
      }
      if (context.clock->now() >= until) {
        const std::string trouble = client->trouble();
        return fail(
            std::move(looked)
                .error()
                .prefixed(fmt::format("topic '{}' cannot be written within connect_timeout; check `brokers` and "
                                      "`topic`, and create the topic{}{}: ",
                                      options_.topic, trouble.empty() ? "" : "; the last that was heard: ", trouble))
                .as(ErrorClass::fatal));
      }
      rd_kafka_poll(client->get(), 100);
    }
  }

  Result<void> look_once(rd_kafka_t* handle, rd_kafka_topic_t* topic) const {
    const rd_kafka_metadata_t* found = nullptr;
    const std::string doing = fmt::format("asking for topic '{}'", options_.topic);
    const auto code = rd_kafka_metadata(handle, 0, topic, &found, kAskMillis);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, doing, {}, Role::sink));
    const MetadataHandle metadata(found);
    if (metadata->topic_cnt != 1) return fail(error_of(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing, {}, Role::sink));
    if (metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return fail(error_of(metadata->topics[0].err, doing, {}, Role::sink));
    return {};
  }

  static constexpr std::uint64_t kAccountOfARecord = 256;

  const KafkaSinkOptions options_;
  SinkContext context_;
  SinkMetrics metrics_;
};

}  // namespace
}  // namespace kafka

const Schema<KafkaSinkOptions>& KafkaSink::schema() {
  using Options = KafkaSinkOptions;
  static const Schema<Options> all = [] {
    Schema<Options> s(
        "kafka",
        "Writes records to a topic of Kafka, with their key, headers and timestamp. A record is acknowledged "
        "once every replica in sync has it; the library's own retries write it once, one that is sent again "
        "after a failure or a crash may stand there twice. Records of one partition of the source that go to one "
        "partition of the topic keep their order: with one that is sent again go those behind it, so the last of "
        "each stands in order. A record keeps its time, in milliseconds: brokers that keep records for a time "
        "delete old ones at once, so give the topic a retention that reaches back to them, or "
        "message.timestamp.type=LogAppendTime. A record without a value, as compacted topics have them, is written "
        "with an empty one.");
    s.required("brokers", &Options::brokers, "Where to ask for the cluster: `host:port` of some of its brokers.",
               {.example = "[kafka-1:9092, kafka-2:9092]"});
    s.required("topic", &Options::topic, "The topic, which has to be there.", {.example = "orders-clean"});
    s.optional("partitioner", &Options::partitioner,
               "How a key chooses its partition: `murmur2` as Java's clients do, `crc32` as librdkafka's do. Records "
               "without a key go anywhere; for `crc32` an empty key is none.");
    s.optional("compression", &Options::compression, "Of what is sent, and stored.");
    s.optional("max_record_bytes", &Options::max_record_bytes,
               "Largest record, with key and headers: a larger one is a record error, as `on_error` of `decode` says. "
               "max.message.bytes of the topic bounds what is sent together, and this bounds that too: keep it 1 KiB "
               "below.",
               {.min = 1000, .max = 900'000'000});
    s.optional("linger", &Options::linger, "How long records wait for company.", {.min = 0.001, .max = 3600});
    s.optional("batch_bytes", &Options::batch_bytes, "Bytes that are sent and waited for together, for each lane.",
               {.min = 1024, .max = 1 << 30U});
    s.optional("batch_records", &Options::batch_records, "The same in records.", {.min = 1, .max = 10'000'000});
    s.optional("write_concurrency", &Options::write_concurrency,
               "Producers, each with connections of its own. Lanes share them.", {.min = 1, .max = 64});
    s.optional(
        "write_timeout", &Options::write_timeout,
        "How long brokers may take to acknowledge records. With `stall`, they are waited for further; with `fail` "
        "and `drop`, they are sent anew, and may then stand there twice.",
        {.min = 1, .max = 3600});
    s.optional(
        "on_write_failure", &Options::on_write_failure,
        "What becomes of records that cannot be written: `stall` waits as long as it takes, `fail` ends the run and "
        "`drop` goes on without them, both after `max_attempts`.");
    s.optional("max_attempts", &Options::max_attempts, "Tries, each of `write_timeout`, for `fail` and `drop`.",
               {.min = 1, .max = 1000});
    s.optional("connect_timeout", &Options::connect_timeout,
               "How long the brokers may take to answer, and the topic to come into being, when a run begins.",
               {.min = 0.1, .max = 86400});
    s.optional(
        "properties", &Options::properties,
        "Settings of librdkafka, by its names, for what has no key here: `security.protocol`, `sasl.*`, `ssl.*`. "
        "Refused, with the reason: what would acknowledge records that replicas do not have, and what has a key "
        "here. No value appears in any output.",
        {.example = "{security.protocol: SASL_SSL}", .secret = true});
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      kafka::check(options, at, problems);
    });
    return s;
  }();
  return all;
}

Result<std::unique_ptr<Sink>> KafkaSink::make(KafkaSinkOptions options, const BuildContext& /*context*/) {
  MILLRACE_TRY(kafka::check(options));
  return std::make_unique<kafka::TopicSink>(std::move(options));
}

Result<std::unique_ptr<Sink>> KafkaSink::make(const ConfigSection& section, const BuildContext& context) {
  MILLRACE_ASSIGN(KafkaSinkOptions options, schema().parse(section));
  return make(std::move(options), context);
}

SinkKind KafkaSink::kind() {
  SinkKind kind{"kafka", schema().description(),
                [](const ConfigSection& section) -> Result<void> {
                  MILLRACE_TRY(schema().parse(section));
                  return {};
                },
                [](const ConfigSection& section, const BuildContext& context) { return make(section, context); }};
  kind.place = [](const ConfigSection& section) -> Result<std::string> {
    MILLRACE_ASSIGN(const KafkaSinkOptions options, schema().parse(section));
    return fmt::format("produces to topic '{}' of {}", printable(options.topic), printable(options.brokers.front()));
  };
  return kind;
}

Result<void> KafkaSink::check_not_feeding(const KafkaSourceOptions& source, const KafkaSinkOptions& sink) {
  const auto shared = [&](const std::string& broker) {
    return std::ranges::find(source.brokers, broker) != source.brokers.end();
  };
  const bool read = std::ranges::find(source.topics, sink.topic) != source.topics.end();
  if (!read || std::ranges::none_of(sink.brokers, shared)) return {};
  return fail(Error::config(
      fmt::format("the sink writes to topic '{}', which the source reads: a run would read its own output without end",
                  sink.topic)));
}

}  // namespace millrace
