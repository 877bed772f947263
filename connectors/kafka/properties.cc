// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace millrace::kafka {
namespace {

constexpr int kOfSource = 1;
constexpr int kOfSink = 2;
constexpr int kOfBoth = 3;

struct Denied {
  std::string_view name;
  int roles;
  std::string_view why;
};

constexpr std::string_view kByPosition =
    "a position is stored when its records are durable, and by nothing else; it would be stored for records that were "
    "only fetched";
constexpr std::string_view kCallback = "it is code, which a file cannot hold";
constexpr std::string_view kDurable = "a record is acknowledged when every replica in sync has it, and written once";

constexpr std::string_view kRetried = "the library tries until `write_timeout`, and so long records keep their order";
constexpr std::string_view kLingers = "set `linger`; a batch that is sent is whole, and nothing more comes";

constexpr std::array kDenied{
    Denied{"enable.auto.commit", kOfSource, kByPosition},
    Denied{"auto.commit.enable", kOfSource, kByPosition},
    Denied{"auto.commit.interval.ms", kOfSource, kByPosition},
    Denied{"enable.auto.offset.store", kOfSource, kByPosition},
    Denied{"offset.store.method", kOfSource, kByPosition},
    Denied{"offset.store.path", kOfSource, kByPosition},
    Denied{"offset.store.sync.interval.ms", kOfSource, kByPosition},
    Denied{"group.id", kOfSource, "set `group`"},
    Denied{"bootstrap.servers", kOfBoth, "set `brokers`"},
    Denied{"metadata.broker.list", kOfBoth, "set `brokers`"},
    Denied{"auto.offset.reset", kOfSource,
           "set `start` for a group without a position, and `on_position_lost` for one whose position is gone; a reset "
           "that nobody asked for would leave records out"},
    Denied{"isolation.level", kOfSource, "set `isolation`"},
    Denied{"partition.assignment.strategy", kOfSource, "set `assignment`"},
    Denied{"enable.partition.eof", kOfSource, "the ends of partitions are needed to tell lag and the end of a run"},
    Denied{"queued.max.messages.kbytes", kOfSource, "set `prefetch_bytes`"},
    Denied{"group.protocol", kOfSource, "partitions are divided by `assignment`, which the members of a group share"},
    Denied{"enable.idempotence", kOfSink, kDurable},
    Denied{"acks", kOfSink, kDurable},
    Denied{"request.required.acks", kOfSink, kDurable},
    Denied{"queuing.strategy", kOfSink, "records are sent in their order"},
    Denied{"retries", kOfSink, kRetried},
    Denied{"message.send.max.retries", kOfSink, kRetried},
    Denied{"linger.ms", kOfSink, kLingers},
    Denied{"queue.buffering.max.ms", kOfSink, kLingers},
    Denied{"allow.auto.create.topics", kOfSink, "a topic that is misspelt would come into being"},
    Denied{"transactional.id", kOfSink, "this sink writes without transactions"},
    Denied{"delivery.report.only.error", kOfSink, "every record is waited for"},
    Denied{"enable.gapless.guarantee", kOfSink, "a record that is refused follows the record policy"},
    Denied{"message.max.bytes", kOfSink, "set `max_record_bytes`"},
    Denied{"message.timeout.ms", kOfSink, "set `write_timeout`"},
    Denied{"delivery.timeout.ms", kOfSink, "set `write_timeout`"},
    Denied{"partitioner", kOfSink, "set `partitioner`"},
    Denied{"compression.codec", kOfSink, "set `compression`"},
    Denied{"compression.type", kOfSink, "set `compression`"},
    Denied{"enabled_events", kOfBoth, kCallback},
    Denied{"error_cb", kOfBoth, kCallback},
    Denied{"throttle_cb", kOfBoth, kCallback},
    Denied{"stats_cb", kOfBoth, kCallback},
    Denied{"log_cb", kOfBoth, kCallback},
    Denied{"socket_cb", kOfBoth, kCallback},
    Denied{"connect_cb", kOfBoth, kCallback},
    Denied{"closesocket_cb", kOfBoth, kCallback},
    Denied{"open_cb", kOfBoth, kCallback},
    Denied{"rebalance_cb", kOfBoth, kCallback},
    Denied{"offset_commit_cb", kOfBoth, kCallback},
    Denied{"consume_cb", kOfBoth, kCallback},
    Denied{"dr_cb", kOfBoth, kCallback},
    Denied{"dr_msg_cb", kOfBoth, kCallback},
    Denied{"background_event_cb", kOfBoth, kCallback},
    Denied{"opaque", kOfBoth, kCallback},
    Denied{"interceptors", kOfBoth, kCallback},
    Denied{"plugin.library.paths", kOfBoth, "it would load code into this process"},
    Denied{"ssl.engine.location", kOfBoth, "it would load code into this process"},
    Denied{"topic.blacklist", kOfBoth, "it would hide topics that are asked for"},
    Denied{"log.queue", kOfBoth, "lines of the library go to the log"},
    Denied{"log.thread.name", kOfBoth, "lines of the library go to the log"},
    Denied{"statistics.interval.ms", kOfBoth, "nobody reads the statistics; see the metrics"},
    Denied{"test.mock.num.brokers", kOfBoth, "it would read from a broker that is none"},
};

}  // namespace

std::optional<std::string_view> why_denied(std::string_view name, Role role) noexcept {
  const int wanted = role == Role::source ? kOfSource : kOfSink;
  const auto* found = std::ranges::find_if(
      kDenied, [&](const Denied& denied) { return denied.name == name && (denied.roles & wanted) != 0; });
  return found == kDenied.end() ? std::nullopt : std::optional(found->why);
}

Result<void> set(rd_kafka_conf_t& conf, const std::string& name, const std::string& value) {
  char text[512] = "";
  switch (rd_kafka_conf_set(&conf, name.c_str(), value.c_str(), text, sizeof text)) {
    case RD_KAFKA_CONF_OK:
      return {};
    case RD_KAFKA_CONF_UNKNOWN:
      return fail(Error::config(
          fmt::format("properties.{}: librdkafka {} has no such property", name, rd_kafka_version_str())));
    default:
      // What the library says of it may repeat the value, which may be a password.
      return fail(Error::config(fmt::format("properties.{}: librdkafka refuses this value", name)));
  }
}

Result<void> set_all(rd_kafka_conf_t& conf, const Properties& properties, Role role) {
  for (const auto& [name, value] : properties) {
    if (const auto why = why_denied(name, role))
      return fail(Error::config(fmt::format("properties.{}: may not be set: {}", name, *why)));
    MILLRACE_TRY(set(conf, name, value));
  }
  return {};
}

void check_properties(const Properties& properties, Role role, const ConfigSection& at, ConfigProblems& problems) {
  const ConfigSection section = at.child("properties");
  for (const auto& [name, value] : properties) {
    const ConfigSection one = section.child(name);
    const ConfHandle scratch(rd_kafka_conf_new());
    const Result<void> taken = set_all(*scratch, {{name, value}}, role);
    if (taken) continue;
    const std::string prefix = at.path().empty() ? "" : at.path() + ".";
    problems.add(one.key_where(), prefix + taken.error().message());
  }
}

}  // namespace millrace::kafka
