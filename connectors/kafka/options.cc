// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "connectors/kafka/partitions.h"
#include "connectors/kafka/properties.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::kafka {
namespace {

// As the brokers have it: letters, digits, '.', '_' and '-', 249 of them at most. A '^' would make it a pattern.
bool is_topic(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 249 && name != "." && name != ".." && std::ranges::all_of(name, allowed);
}

class Problems {
 public:
  Problems(const ConfigSection& at, ConfigProblems& problems) : at_(at), problems_(problems) {}
  void add(std::string_view key, std::string text) {
    const std::string prefix = at_.path().empty() ? "" : at_.path() + ".";
    problems_.add(at_.child(key).where(), fmt::format("{}{}: {}", prefix, key, text));
  }

 private:
  const ConfigSection& at_;
  ConfigProblems& problems_;
};

void check_list(const std::vector<std::string>& values, std::string_view key, Problems& problems) {
  if (values.empty()) problems.add(key, "needs at least one");
  std::set<std::string_view> seen;
  for (const std::string& one : values) {
    if (!seen.insert(one).second) problems.add(key, fmt::format("'{}' stands there twice", one));
  }
}

/// A member that does not poll for so long is taken for dead; what is under way of revoked partitions is drained and
/// stored between two polls.
void check_poll_interval(const Properties& properties, Problems& problems) {
  constexpr std::string_view kName = "max.poll.interval.ms";
  const auto given = properties.find(std::string(kName));
  if (given == properties.end()) return;
  std::int64_t millis = 0;
  const std::string& text = given->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), millis);
  const bool number = error == std::errc() && end == text.data() + text.size();
  const Duration drain = PipelineOptions{}.drain_timeout;
  const auto seconds = [](Duration time) { return std::chrono::duration_cast<std::chrono::seconds>(time).count(); };
  const std::int64_t least = std::chrono::ceil<std::chrono::milliseconds>(drain + kLastStore).count();
  if (!number || millis >= least) return;
  problems.add("properties", fmt::format("{} is too short: when partitions go, what is under way is drained within "
                                         "pipeline.drain_timeout ({} s if it is not set) and stored within {} s, "
                                         "and the group must wait for both: set {} or more",
                                         kName, seconds(drain), seconds(kLastStore), least));
}

using Settings = std::vector<std::pair<std::string, std::string>>;

// What a batch of one record may have around it on the wire, generously.
constexpr std::uint64_t kAroundARecord = 1024;
// What the library sends together at most, if it is not told otherwise.
constexpr std::uint64_t kUsualSet = 1'000'000;

std::string client_id(const std::string& pipeline) {
  return fmt::format("millrace-{}", pipeline.empty() ? "library" : pipeline);
}

Result<ConfHandle> conf_of(const Settings& own, const Properties& properties, Role role) {
  ConfHandle conf(rd_kafka_conf_new());
  for (const auto& [name, value] : own) MILLRACE_TRY(set(*conf, name, value));
  MILLRACE_TRY(set_all(*conf, properties, role));
  return conf;
}

}  // namespace

void check(const KafkaSourceOptions& options, const ConfigSection& at, ConfigProblems& problems) {
  Problems found(at, problems);
  check_list(options.brokers, "brokers", found);
  check_list(options.topics, "topics", found);
  if (options.topics.size() > kMostTopics) found.add("topics", fmt::format("at most {}", kMostTopics));
  for (const std::string& topic : options.topics) {
    if (!is_topic(topic))
      found.add("topics", fmt::format("'{}' is no name of a topic; patterns are not taken: name each topic", topic));
  }
  if (options.group.empty()) found.add("group", "is empty; positions are stored for it");
  if (!options.partitions.empty()) check_list(options.partitions, "partitions", found);
  for (const std::string& text : options.partitions) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size() && number < kMostPartitions;
    if (!whole || std::to_string(number) != text)
      found.add("partitions", fmt::format("'{}' is no number of a partition", text));
  }
  check_properties(options.properties, Role::source, at, problems);
  check_poll_interval(options.properties, found);
}

Result<void> check(const KafkaSourceOptions& options) {
  ConfigProblems problems;
  check(options, {}, problems);
  return problems.result();
}

void check(const KafkaSinkOptions& options, const ConfigSection& at, ConfigProblems& problems) {
  Problems found(at, problems);
  check_list(options.brokers, "brokers", found);
  if (!is_topic(options.topic)) found.add("topic", fmt::format("'{}' is no name of a topic", options.topic));
  check_properties(options.properties, Role::sink, at, problems);
  for (const char* name : {"max.in.flight", "max.in.flight.requests.per.connection"}) {
    const auto given = options.properties.find(name);
    int count = 0;
    if (given == options.properties.end()) continue;
    const auto [end, error] = std::from_chars(given->second.data(), given->second.data() + given->second.size(), count);
    if (error == std::errc() && count > 5)
      found.add("properties", fmt::format("{}: 5 at most, or records could not keep their order", name));
  }
}

Result<void> check(const KafkaSinkOptions& options) {
  ConfigProblems problems;
  check(options, {}, problems);
  return problems.result();
}

Result<ConfHandle> source_conf(const KafkaSourceOptions& options, const std::string& pipeline) {
  const Settings own{
      {"client.id", client_id(pipeline)},
      {"bootstrap.servers", fmt::format("{}", fmt::join(options.brokers, ","))},
      {"group.id", options.group},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      // A position that is lost is an error of its partition, and never another position.
      {"auto.offset.reset", "error"},
      {"enable.partition.eof", "true"},
      {"isolation.level", options.isolation == KafkaIsolation::read_committed ? "read_committed" : "read_uncommitted"},
      {"partition.assignment.strategy",
       options.assignment == KafkaAssignment::cooperative ? "cooperative-sticky" : "range,roundrobin"},
      {"queued.max.messages.kbytes", std::to_string(std::max<std::uint64_t>(options.prefetch_bytes.bytes >> 10U, 1))},
  };
  return conf_of(own, options.properties, Role::source);
}

Result<ConfHandle> sink_conf(const KafkaSinkOptions& options, const std::string& pipeline) {
  // What is given up by the library may be written all the same, so it is where this side gives up, and nowhere else.
  const auto millis = options.on_write_failure == OnWriteFailure::stall
                          ? 0
                          : std::chrono::ceil<std::chrono::milliseconds>(options.write_timeout).count();
  const std::uint64_t largest = options.max_record_bytes.bytes;
  const Settings own{
      {"client.id", client_id(pipeline)},
      {"bootstrap.servers", fmt::format("{}", fmt::join(options.brokers, ","))},
      {"enable.idempotence", "true"},
      {"acks", "all"},
      {"message.timeout.ms", std::to_string(millis)},
      // Of the records alone: the library counts what it puts around each of them too.
      {"message.max.bytes", std::to_string(largest + kAroundARecord)},
      // A topic's max.message.bytes bounds what is sent together, so that may not exceed one record that it takes.
      {"batch.size", std::to_string(std::min(kUsualSet, largest - std::min(kAroundARecord, largest / 2)))},
      {"compression.codec",
       std::string(EnumNames<KafkaCompression>::names[static_cast<std::size_t>(options.compression)].first)},
      {"partitioner", options.partitioner == KafkaPartitioner::murmur2 ? "murmur2_random" : "consistent_random"},
      // A sealed batch is whole: nothing more comes that could be waited for.
      {"linger.ms", "0"},
      {"reconnect.backoff.max.ms", "500"},
      {"allow.auto.create.topics", "false"},
      {"queue.buffering.max.messages", std::to_string(std::max<std::uint64_t>(options.batch_records, 100'000))},
      {"queue.buffering.max.kbytes", std::to_string(((options.batch_bytes.bytes + largest) >> 10U) + 1024)},
  };
  return conf_of(own, options.properties, Role::sink);
}

}  // namespace millrace::kafka
