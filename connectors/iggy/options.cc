// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/options.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "connectors/iggy/connection.h"

namespace millrace::iggy_source {
namespace {

std::optional<std::uint32_t> number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number >= kMostPartitions) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

void check(const IggySourceOptions& options, const ConfigSection& at, ConfigProblems& problems) {
  const auto say = [&](const char* key, const std::string& text) { problem_of(at, key, text, problems); };
  check_connection(options, at, problems);
  if (options.consumer_group.empty() == options.consumer.empty()) {
    say("consumer_group",
        "give consumer_group, whose members share the partitions, or consumer, which reads by itself");
  }
  if (options.topics.empty() || options.topics.size() > kMostTopics) {
    say("topics", fmt::format("names 1 to {} topics", kMostTopics));
  }
  if (std::set(options.topics.begin(), options.topics.end()).size() != options.topics.size()) {
    say("topics", "names a topic twice");
  }
  std::vector<std::string> names = options.topics;
  names.push_back(options.stream);
  if (std::ranges::any_of(names, [](const std::string& name) { return name.empty() || name.size() > 255; })) {
    say("topics", "names of stream and topics have 1 to 255 bytes");
  }
  if (!options.partitions.empty() && !options.consumer_group.empty()) {
    say("partitions", "is for consumer alone: the members of a group are given theirs by the server");
  }
  if (!options.member.empty() && options.consumer_group.empty())
    say("member", "has a meaning with consumer_group only");
  if (!std::ranges::all_of(options.partitions, [](const std::string& one) { return number_in(one).has_value(); })) {
    say("partitions", fmt::format("lists numbers from 0 to {}", kMostPartitions - 1));
  }
}

Result<void> check(const IggySourceOptions& options) {
  ConfigProblems problems;
  check(options, ConfigSection(), problems);
  return problems.result();
}

iggy::ClientOptions client_options(const IggyConnectionOptions& options, const SourceContext& context) {
  return connection_of(options, context.clock, context.random, context.log);
}

iggy::Consumer consumer_of(const IggySourceOptions& options) {
  if (!options.consumer_group.empty()) return iggy::Consumer::group(iggy::Identifier::name(options.consumer_group));
  // By its number where it is one: names are kept by a hash, which two of them may share.
  std::uint32_t number = 0;
  const char* const end = options.consumer.data() + options.consumer.size();
  const auto [behind, error] = std::from_chars(options.consumer.data(), end, number);
  if (error == std::errc() && behind == end) return iggy::Consumer::individual(iggy::Identifier::number(number));
  return iggy::Consumer::individual(iggy::Identifier::name(options.consumer));
}

iggy::Consumer reader() { return iggy::Consumer::individual(iggy::Identifier::number(0)); }

iggy::TopicName topic_name(const IggySourceOptions& options, std::uint32_t topic) {
  return {iggy::Identifier::name(options.stream), iggy::Identifier::name(options.topics[topic])};
}

std::string text(const IggySourceOptions& options, Partition partition) {
  const iggy::TopicName topic = topic_name(options, partition.topic);
  return fmt::format("'{}/{}' partition {}", iggy::to_string(topic.stream), iggy::to_string(topic.topic),
                     partition.number);
}

std::string topic_text(const IggySourceOptions& options, std::uint32_t topic) {
  return fmt::format("topic '{}/{}'", options.stream, options.topics[topic]);
}

Error missing(const std::string& what) {
  return Error::retryable(ErrorCode::not_found, "there is no " + what + "; make it, or correct the name");
}

std::optional<iggy::ClientId> member_id(const IggySourceOptions& options) {
  if (options.member.empty()) return std::nullopt;
  const std::string named = "millrace member " + options.consumer_group + "\n" + options.member;
  const XXH128_hash_t hash = XXH3_128bits(named.data(), named.size());
  iggy::ClientId id;
  std::memcpy(id.data(), &hash.low64, sizeof hash.low64);
  std::memcpy(id.data() + sizeof hash.low64, &hash.high64, sizeof hash.high64);
  id[0] |= 1U;  // zero is nobody
  return id;
}

std::vector<std::uint32_t> listed_partitions(const IggySourceOptions& options) {
  std::set<std::uint32_t> numbers;
  for (const std::string& one : options.partitions) {
    if (const auto number = number_in(one)) numbers.insert(*number);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace millrace::iggy_source
