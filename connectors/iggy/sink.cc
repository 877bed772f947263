// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/iggy/sink_options.h"
#include "connectors/iggy/writer.h"
#include "millrace/base/stop_watch.h"
#include "millrace/encode/framed.h"

namespace millrace::iggy_sink {
namespace {

// Between two looks for a topic that is missing.
constexpr Duration kPause = std::chrono::milliseconds(250);
// The client waits by itself before it connects again.
constexpr BackoffOptions kBetweenTries{std::chrono::milliseconds(200), std::chrono::seconds(10), 2.0};
// Of each record of a batch: its message, its place and its group.
constexpr std::uint64_t kOfRecord = sizeof(iggy::OutgoingMessage) + 16;

}  // namespace

TopicSink::TopicSink(IggySinkOptions options) : options_(std::move(options)) {}

SealPolicy TopicSink::seal_policy() const {
  SealPolicy policy;
  policy.max_bytes = options_.batch_bytes.bytes;
  policy.max_records = options_.batch_records;
  policy.uncounted = encode::kFrameBytes;
  policy.max_age = options_.linger;
  return policy;
}

EncodeSpec TopicSink::encode_spec() const {
  EncodeSpec spec;
  spec.format = EncodeFormat::framed;
  spec.max_record_bytes = options_.max_record_bytes.bytes;
  return spec;
}

RetryPolicy TopicSink::retry_policy() const {
  RetryPolicy policy;
  policy.backoff = kBetweenTries;
  policy.max_attempts = static_cast<int>(options_.max_attempts);
  policy.on_failure = options_.on_write_failure;
  return policy;
}

SinkTraits TopicSink::traits() const {
  // The request that is being sent, and the headers of a batch.
  const std::uint64_t request = std::max(options_.batch_bytes.bytes, options_.max_record_bytes.bytes);
  const std::uint64_t headers = options_.batch_bytes.bytes + options_.max_record_bytes.bytes;
  return {.concurrency = options_.write_concurrency,
          .ordered = true,
          .writes_time_out = true,
          .writer_memory = request + headers + options_.batch_records * (kOfRecord + kAroundMessage)};
}

Result<void> TopicSink::open(SinkContext context) {
  MILLRACE_ASSIGN(metrics_, SinkMetrics::make(context.meter));
  context_ = std::move(context);
  ids_.emplace(context_.pipeline, *context_.random);
  MILLRACE_ASSIGN(const std::unique_ptr<iggy::Client> client, iggy::Client::make(client_options(options_, context_)));
  StopWatch watch("mr-iggy-stop", context_.stop_requested, [&client] { client->cancel(); });
  Result<void> looked = look_for_topic(*client, watch.stop());
  if (watch.end()) return fail(Error::fatal(ErrorCode::cancelled, "iggy: stopped before the server had answered"));
  return looked;
}

Result<void> TopicSink::look_for_topic(iggy::Client& client, StopSignal& stop) {
  const SteadyTime until = context_.clock->now() + options_.connect_timeout;
  for (;;) {
    Result<void> looked = look_once(client, until);
    if (looked || !looked.error().is_retryable()) return looked;
    const SteadyTime now = context_.clock->now();
    if (now >= until || stop.wait(*context_.clock, std::min<Duration>(kPause, until - now))) {
      // What is missing is told with the way out.
      const bool missing = looked.error().code() == ErrorCode::not_found;
      return fail(std::move(looked)
                      .error()
                      .prefixed(fmt::format("topic {} of Iggy cannot be written within connect_timeout{}: ",
                                            text_of(topic_name(options_)),
                                            missing ? "" : "; check `address`, `tls` and `protocol`"))
                      .as(ErrorClass::fatal));
    }
  }
}

Result<void> TopicSink::look_once(iggy::Client& client, SteadyTime until) {
  MILLRACE_TRY(client.connect(until));
  MILLRACE_ASSIGN(std::optional<iggy::TopicInfo> topic, client.get_topic(topic_name(options_)));
  if (!topic && options_.create_partitions != 0) {
    MILLRACE_ASSIGN(topic, create(client));
  }
  if (!topic) return fail(missing(client));
  const std::string name = text_of(topic_name(options_));
  if (topic->partition_count == 0) {
    return fail(Error::fatal(ErrorCode::not_found, fmt::format("topic {} has no partitions; add some", name)));
  }
  const auto& [kind, number] = options_.partitioning;
  if (kind == IggyPartitioning::Kind::partition && number >= topic->partition_count) {
    return fail(Error::fatal(ErrorCode::not_found,
                             fmt::format("topic {} has partitions 0 to {}, and `partitioning` names {}; correct it, or "
                                         "add partitions to the topic",
                                         name, topic->partition_count - 1, number)));
  }
  return {};
}

Result<std::optional<iggy::TopicInfo>> TopicSink::create(iggy::Client& client) const {
  const auto partitions = static_cast<std::uint32_t>(options_.create_partitions);
  MILLRACE_TRY(client.create_stream(options_.stream));
  MILLRACE_TRY(client.create_topic(iggy::Identifier::name(options_.stream), options_.topic, partitions));
  context_.log.info("a topic of Iggy was made, as it was missing",
                    {{"topic", text_of(topic_name(options_))}, {"partitions", std::to_string(partitions)}});
  return client.get_topic(topic_name(options_));
}

Error TopicSink::missing(iggy::Client& client) const {
  const iggy::TopicName name = topic_name(options_);
  const auto stream = client.get_stream(name.stream);
  const bool has_stream = stream && *stream;
  return Error::retryable(
      ErrorCode::not_found,
      fmt::format("{} has no {} '{}', and topic {} is to be written; make it, correct `stream` and `topic`, or set "
                  "`create_partitions` to have it made",
                  has_stream ? fmt::format("stream '{}' at {}", iggy::to_string(name.stream), client.address())
                             : "the server at " + client.address(),
                  has_stream ? "topic" : "stream", iggy::to_string(has_stream ? name.topic : name.stream),
                  text_of(name)));
}

Result<std::unique_ptr<Writer>> TopicSink::make_writer() {
  return TopicWriter::make(options_, context_, *ids_, metrics_);
}

}  // namespace millrace::iggy_sink
