// SPDX-License-Identifier: Apache-2.0
// The keys of `source: {kafka: ...}`, as data, and the factories.
#include <array>
#include <memory>
#include <utility>

#include "connectors/kafka/options.h"
#include "connectors/kafka/source.h"
#include "connectors/kafka/status.h"
#include "connectors/kafka/way.h"
#include "millrace/connectors/kafka.h"

namespace millrace {

template <>
struct EnumNames<KafkaIsolation> {
  static constexpr std::array<std::pair<std::string_view, KafkaIsolation>, 2> names{
      {{"read_committed", KafkaIsolation::read_committed}, {"read_uncommitted", KafkaIsolation::read_uncommitted}}};
};
template <>
struct EnumNames<KafkaAssignment> {
  static constexpr std::array<std::pair<std::string_view, KafkaAssignment>, 2> names{
      {{"cooperative", KafkaAssignment::cooperative}, {"eager", KafkaAssignment::eager}}};
};
template <>
struct EnumNames<KafkaTombstone> {
  static constexpr std::array<std::pair<std::string_view, KafkaTombstone>, 3> names{
      {{"empty", KafkaTombstone::empty}, {"json_null", KafkaTombstone::json_null}, {"skip", KafkaTombstone::skip}}};
};

const Schema<KafkaSourceOptions>& KafkaSource::schema() {
  using Options = KafkaSourceOptions;
  static const Schema<Options> all = [] {
    Schema<Options> s(
        "kafka",
        "Reads topics of Kafka. Each partition is one lane; the group's position of a partition is stored "
        "once every record before it is durable, and by nothing else: never for what was only fetched. "
        "Records have their key, headers and timestamp.");
    s.required("brokers", &Options::brokers, "Where to ask for the cluster: `host:port` of some of its brokers.",
               {.example = "[kafka-1:9092, kafka-2:9092]"});
    s.required("topics", &Options::topics,
               "Topics to read, by their names. With several, add new ones at the end of the list: where a key "
               "without `{topic}` names a partition, those of the second topic count from 100000, those of the third "
               "from 200000.",
               {.example = "[orders]"});
    s.required("group", &Options::group,
               "The consumer group: whom positions are stored for, and who share the partitions.",
               {.example = "orders-to-s3"});
    s.optional(
        "partitions", &Options::partitions,
        "Numbers of the partitions of each topic that this run reads, without being a member of the group; its "
        "positions are stored for the group all the same. Brokers take them only while the group has no members: with "
        "one that is alive a run does not begin (it is waited for, up to connect_timeout), and one that comes later "
        "holds up the positions until it is gone. Left out: the group assigns.",
        {.example = "[0, 1]"});
    s.optional("assignment", &Options::assignment,
               "How partitions move when members come and go. `cooperative` (cooperative-sticky) takes only those that "
               "move away from their owner, `eager` (range, roundrobin) all. The same for every member of the group.");
    s.optional(
        "start", &Options::start,
        "Where a partition begins of which no position is stored: `earliest`, `latest`, an offset, the first "
        "record at or after a time; `stored` refuses to begin anywhere else than where the group was. It is stored "
        "at once, so that a crash moves it no further.",
        {.example = "{timestamp: 2026-07-01T00:00:00Z}"});
    s.optional("on_position_lost", &Options::on_position_lost,
               "What to do where the position is stored but its records are gone, as retention was faster, or lies "
               "behind the end, as the topic is another one: `fail` says both numbers, the others go on there. While a "
               "run reads, such a loss ends it, and the next run goes on so.");
    s.optional(
        "bounded", &Options::bounded,
        "Read up to the ends that partitions have at the start, then end `Completed`; with read_committed such an "
        "end lies before the first transaction that is open. A run that shares the group waits until the other "
        "members have read theirs.");
    s.optional(
        "isolation", &Options::isolation,
        "`read_committed`: nothing of a transaction before it is committed, and nothing of one that was aborted.");
    s.optional("on_tombstone", &Options::on_tombstone,
               "What a record without a value is, which in a compacted topic says that its key is deleted: `empty`, an "
               "empty payload, which `decode: json` passes over as it does blank lines; `json_null`, the payload "
               "`null`, for topics of JSON; `skip` passes it over, so that nothing tells of it but "
               "etl_kafka_source_tombstones_total.");
    s.optional("prefetch_bytes", &Options::prefetch_bytes,
               "Bytes of each partition that may be fetched and not read yet.",
               {.min = 1 << 10U, .max = 2097151.0 * 1024});
    s.optional("connect_timeout", &Options::connect_timeout,
               "How long the brokers may take to answer, and a topic to come into being, when a run begins. Later on "
               "what is away is waited for without end.",
               {.min = 0.1, .max = 86400});
    s.optional(
        "properties", &Options::properties,
        "Settings of librdkafka, by its names, for what has no key here: `security.protocol`, `sasl.*`, `ssl.*`, "
        "`client.rack`, `fetch.*`, `session.timeout.ms`, `group.instance.id`. Refused, with the reason: what would "
        "store positions by itself, and what has a key here. A `pipeline.drain_timeout` of more than 4 minutes needs a "
        "`max.poll.interval.ms` that is longer by 10 s. No value appears in any output.",
        {.example = "{security.protocol: SASL_SSL}", .secret = true});
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      kafka::check(options, at, problems);
    });
    return s;
  }();
  return all;
}

Result<std::unique_ptr<Source>> KafkaSource::make(KafkaSourceOptions options, const BuildContext& context) {
  MILLRACE_TRY(kafka::check(options));
  return std::make_unique<kafka::GroupSource>(std::move(options), context.per_partition_detail);
}

Result<std::unique_ptr<Source>> KafkaSource::make(const ConfigSection& section, const BuildContext& context) {
  MILLRACE_ASSIGN(KafkaSourceOptions options, schema().parse(section));
  return make(std::move(options), context);
}

SourceKind KafkaSource::kind() {
  SourceKind kind;
  kind.name = "kafka";
  kind.description = schema().description();
  kind.validate = [](const ConfigSection& section) -> Result<void> {
    MILLRACE_TRY(schema().parse(section));
    return {};
  };
  kind.make = [](const ConfigSection& section, const BuildContext& context) { return make(section, context); };
  kind.replay_gap = [](const ConfigSection&) { return std::string(); };
  kind.status = [](const ConfigSection& section, const BuildContext& context, bool json) -> Result<std::string> {
    MILLRACE_ASSIGN(const KafkaSourceOptions options, schema().parse(section));
    return kafka::status(options, context, json);
  };
  kind.names = [](const ConfigSection& section, const BuildContext& context) -> Result<Origin> {
    MILLRACE_ASSIGN(const KafkaSourceOptions options, schema().parse(section));
    Origin origin;
    origin.stream = context.pipeline;
    origin.topic = options.topics.front();
    return origin;
  };
  kind.way = [](const ConfigSection& section, const BuildContext&) -> Result<SourceWay> {
    MILLRACE_ASSIGN(const KafkaSourceOptions options, schema().parse(section));
    return kafka::way_of(options);
  };
  return kind;
}

}  // namespace millrace
