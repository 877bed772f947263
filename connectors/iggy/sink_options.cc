// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/sink_options.h"

#include <fmt/format.h>

#include "connectors/iggy/connection.h"
#include "millrace/iggy_client/user_headers.h"

namespace millrace::iggy_sink {
namespace {

// A reply to a send names partitions, one to the question for the topic has some bytes of each.
constexpr std::size_t kMaxReply = std::size_t{4} << 20U;

bool is_name(const std::string& name) { return !name.empty() && name.size() <= iggy::kMaxHeaderPart; }

}  // namespace

void check(const IggySinkOptions& options, const ConfigSection& at, ConfigProblems& problems) {
  const auto say = [&](const char* key, const std::string& text) { iggy_source::problem_of(at, key, text, problems); };
  iggy_source::check_connection(options, at, problems);
  if (!is_name(options.stream)) say("stream", "a stream's name has 1 to 255 bytes");
  if (!is_name(options.topic)) say("topic", "a topic's name has 1 to 255 bytes");
  if (!options.key_header.empty() && !is_name(options.key_header)) {
    say("key_header", "the name of a header has 1 to 255 bytes");
  }
  const bool one = options.partitioning.kind == IggyPartitioning::Kind::partition;
  if (one && options.create_partitions != 0 && options.partitioning.partition >= options.create_partitions) {
    say("partitioning", fmt::format("a topic of {} partitions, as create_partitions would make it, has no partition {}",
                                    options.create_partitions, options.partitioning.partition));
  }
}

Result<void> check(const IggySinkOptions& options) {
  ConfigProblems problems;
  check(options, {}, problems);
  return problems.result();
}

iggy::TopicName topic_name(const IggySinkOptions& options) {
  return {iggy::Identifier::name(options.stream), iggy::Identifier::name(options.topic)};
}

std::string text_of(const iggy::TopicName& topic) {
  return fmt::format("'{}/{}'", iggy::to_string(topic.stream), iggy::to_string(topic.topic));
}

iggy::ClientOptions client_options(const IggySinkOptions& options, const SinkContext& context) {
  iggy::ClientOptions client = iggy_source::connection_of(options, context.clock, context.random, context.log);
  client.max_reply_bytes = kMaxReply;
  return client;
}

}  // namespace millrace::iggy_sink
