// SPDX-License-Identifier: Apache-2.0
// The keys of `source: {iggy: ...}`, as data, and the factories.
#include <memory>
#include <utility>

#include "connectors/iggy/connection_schema.h"
#include "connectors/iggy/options.h"
#include "connectors/iggy/source.h"
#include "connectors/iggy/status.h"
#include "connectors/iggy/way.h"
#include "millrace/connectors/iggy.h"

namespace millrace {

const Schema<IggySourceOptions>& IggySource::schema() {
  using Options = IggySourceOptions;
  static const Schema<Options> all = [] {
    Schema<Options> s(
        "iggy",
        "Reads topics of Apache Iggy. Each partition is one lane; its offset is stored at the server once "
        "every record before it is durable, and by nothing else: never for what was only fetched. The server "
        "keeps the offset of the last message processed; the next one is read first. Records have the time at "
        "which the server took them, and their user headers.");
    iggy_source::add_connection_keys(s);
    iggy_source::add_reading_keys(s);
    s.required("stream", &Options::stream, "The stream that the topics are in, by its name.",
               {.example = "application_logs"});
    s.required("topics", &Options::topics,
               "Topics to read, by their names. With several, add new ones at the end of the list: where a key "
               "without `{topic}` names a partition, those of the second topic count from 100000, those of the third "
               "from 200000.",
               {.example = "[api_requests, errors]"});
    s.optional(
        "consumer_group", &Options::consumer_group,
        "The group for which offsets are stored, and whose members share the partitions; made where there is none. "
        "This or `consumer`.",
        {.example = "s3_sink"});
    s.optional(
        "member", &Options::member,
        "A name of this member of the group, another one for each process that runs at the same time. A server of "
        "0.9 still counts the members of before it was restarted, and so does one whose client was killed, for a "
        "while: who comes back under the same name takes its partitions up again at once. Left out: somebody new "
        "at each start.",
        {.example = "mill-1"});
    s.optional(
        "consumer", &Options::consumer,
        "Instead of a group: a consumer that reads by itself, by its number or name. The server keeps names by a "
        "hash of 32 bits, so a number is safer.",
        {.example = "\"7\""});
    s.optional("partitions", &Options::partitions, "With `consumer`: numbers of the partitions of each topic to read.",
               {.example = "[0, 1]", .default_text = "all"});
    s.optional("batch_length", &Options::batch_length,
               "Messages of one request. A reply beyond `max_reply_bytes` is asked for again with fewer.",
               {.min = 1, .max = 1e6});
    s.optional(
        "poll_interval", &Options::poll_interval,
        "Before a partition that gave nothing is asked again; the longer it stays empty the longer, up to 500ms.",
        {.min = 0.001, .max = 60});
    s.optional("prefetch_bytes", &Options::prefetch_bytes,
               "Bytes of each partition that may be fetched and not read yet. Beside them a partition has one reply "
               "beyond, the one that is read and a buffer of at most this size, and a connection the reply that comes.",
               {.min = 1 << 10U});
    s.optional("connections", &Options::connections,
               "Connections that fetch; the partitions are spread over them. One more stores offsets and keeps the "
               "membership.",
               {.min = 1, .max = 64});
    s.optional(
        "start", &Options::start,
        "Where a partition begins of which no offset is stored: `earliest`, `latest`, an offset, the first message "
        "at or after a time; `stored` refuses to begin anywhere else. It is stored at once, so that a crash moves "
        "it no further; of an empty partition a server can keep none, and it begins where this says then.",
        {.example = "{timestamp: 2026-07-01T00:00:00Z}"});
    s.optional(
        "on_position_lost", &Options::on_position_lost,
        "What to do where messages that were read, or come next, are gone: retention was faster, the server lost what "
        "it had not written yet, the topic was purged or made anew. `fail` says both numbers, the others go on there.");
    s.optional("bounded", &Options::bounded,
               "Read up to the ends that partitions have at the start, then end `Completed`. A member of a group waits "
               "until the others have read theirs.");
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      iggy_source::check(options, at, problems);
    });
    return s;
  }();
  return all;
}

Result<std::unique_ptr<Source>> IggySource::make(IggySourceOptions options, const BuildContext& context) {
  MILLRACE_TRY(iggy_source::check(options));
  return std::make_unique<iggy_source::GroupSource>(std::move(options), context.per_partition_detail);
}

Result<std::unique_ptr<Source>> IggySource::make(const ConfigSection& section, const BuildContext& context) {
  MILLRACE_ASSIGN(IggySourceOptions options, schema().parse(section));
  return make(std::move(options), context);
}

SourceKind IggySource::kind() {
  SourceKind kind;
  kind.name = "iggy";
  kind.description = schema().description();
  kind.validate = [](const ConfigSection& section) -> Result<void> {
    MILLRACE_TRY(schema().parse(section));
    return {};
  };
  kind.make = [](const ConfigSection& section, const BuildContext& context) { return make(section, context); };
  kind.replay_gap = [](const ConfigSection& section) {
    const auto options = schema().parse(section);
    return options ? iggy_source::replay_gap(options->on_position_lost) : std::string();
  };
  kind.status = [](const ConfigSection& section, const BuildContext& context, bool json) -> Result<std::string> {
    MILLRACE_ASSIGN(const IggySourceOptions options, schema().parse(section));
    return iggy_source::status(options, context, json);
  };
  kind.names = [](const ConfigSection& section, const BuildContext&) -> Result<Origin> {
    MILLRACE_ASSIGN(const IggySourceOptions options, schema().parse(section));
    Origin origin;
    origin.stream = options.stream;
    origin.topic = options.topics.front();
    return origin;
  };
  kind.way = [](const ConfigSection& section, const BuildContext&) -> Result<SourceWay> {
    MILLRACE_ASSIGN(const IggySourceOptions options, schema().parse(section));
    return iggy_source::way_of(options);
  };
  return kind;
}

}  // namespace millrace
