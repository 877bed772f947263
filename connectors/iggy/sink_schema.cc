// SPDX-License-Identifier: Apache-2.0
// The keys of `sink: {iggy: ...}`, as data, and the factories.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "connectors/iggy/connection.h"
#include "connectors/iggy/connection_schema.h"
#include "connectors/iggy/sink.h"
#include "connectors/iggy/sink_options.h"
#include "millrace/base/printable.h"
#include "millrace/connectors/iggy.h"
#include "millrace/connectors/write_failure.h"

namespace millrace {

template <>
struct EnumNames<IggyUnfitHeader> {
  static constexpr std::array<std::pair<std::string_view, IggyUnfitHeader>, 2> names{
      {{"fail", IggyUnfitHeader::fail}, {"leave_out", IggyUnfitHeader::leave_out}}};
};

std::string OptionForm<IggyPartitioning>::text(const IggyPartitioning& partitioning) {
  if (partitioning.kind == IggyPartitioning::Kind::partition) {
    return fmt::format("{{partition: {}}}", partitioning.partition);
  }
  return partitioning.kind == IggyPartitioning::Kind::key ? "key" : "balanced";
}

void OptionForm<IggyPartitioning>::read(const ConfigSection& at, IggyPartitioning& out, ConfigProblems& problems) {
  using Kind = IggyPartitioning::Kind;
  if (at.kind() == ConfigSection::Kind::scalar) {
    const std::string word = at.text();
    if (word == "balanced" || word == "key") {
      out = {word == "key" ? Kind::key : Kind::balanced, 0};
      return;
    }
  } else if (at.kind() == ConfigSection::Kind::mapping) {
    const auto keys = at.keys();
    const bool known = keys.size() == 1 && keys[0] == "partition";
    const std::string number = known ? at.child("partition").text() : std::string();
    std::uint32_t partition = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), partition);
    if (!number.empty() && error == std::errc() && end == number.data() + number.size()) {
      out = {Kind::partition, partition};
      return;
    }
  }
  problems.add(at.where(), fmt::format("{}: expects balanced, key or {{partition: 3}}{}", at.path(),
                                       at.kind() == ConfigSection::Kind::scalar
                                           ? fmt::format(", found '{}'", printable(at.text(), 80))
                                           : std::string()));
}

const Schema<IggySinkOptions>& IggySink::schema() {
  using Options = IggySinkOptions;
  static const Schema<Options> all = [] {
    Schema<Options> s(
        "iggy",
        "Writes records to a topic of Apache Iggy: their bytes as payloads, their headers as user headers, their time "
        "as the origin timestamp. A record is acknowledged by the server's reply, and by nothing else. Delivery is at "
        "least once: messages whose reply was not heard are sent again, and stand there twice if the server had them. "
        "They have the same ids then (a hash of pipeline, lineage, partition, offset and bytes), so that a server with "
        "message deduplication drops them; of a source whose records have no lasting positions, ids hold for one run. "
        "Records of one partition of the source keep their order within each partition that they go to. Headers are "
        "written as strings, or as raw bytes where they are not UTF-8. A message of Iggy has no key: see "
        "`partitioning` "
        "and `key_header`. What the server has acknowledged and not flushed it loses when it is killed.");
    iggy_source::add_connection_keys(s);
    s.required("stream", &Options::stream, "The stream that the topic is in, by its name.",
               {.example = "application_logs"});
    s.required("topic", &Options::topic, "The topic, by its name.", {.example = "orders-clean"});
    s.optional("partitioning", &Options::partitioning,
               "Which partition a record goes to. `balanced`: the server takes them in turn, request by request. "
               "`key`: by the record's key, as Iggy's clients do it (XXH32 modulo the number of partitions), so that "
               "records of one key keep their order; keys of any length are good for it, and records without one go as "
               "with `balanced`. Partitions that the topic is given later are used within half a minute.",
               {.example = "{partition: 3}"});
    s.optional("key_header", &Options::key_header, "Under this name the record's key is written too, as a user header.",
               {.example = "key", .default_text = "the key is not written"});
    s.optional(
        "on_unfit_header", &Options::on_unfit_header,
        "What becomes of a header that Iggy has no place for, as its name or value has not 1 to 255 bytes or all of "
        "a record's have more than 100,000: `fail` ends the run and says which record that is, `leave_out` writes the "
        "record without it and counts it (`etl_iggy_sink_headers_left_out_total`).");
    s.optional("create_partitions", &Options::create_partitions,
               "A topic, and its stream, that are missing when a run begins are made, with so many partitions; 0: they "
               "have to be there.",
               {.min = 0, .max = 1000});
    s.optional("max_record_bytes", &Options::max_record_bytes,
               "Largest record, with key and headers: a larger one is a record error, as `on_error` of `decode` says. "
               "Not above what the server takes of a message.",
               {.min = 1000, .max = 63'000'000});
    s.optional("linger", &Options::linger, "How long records wait for company.", {.min = 0.001, .max = 3600});
    s.optional("batch_bytes", &Options::batch_bytes,
               "Bytes that are gathered and sent together, for each lane; and of one request, unless one message alone "
               "has more.",
               {.min = 1024, .max = 32U << 20U});
    s.optional("batch_records", &Options::batch_records, "The same in records.", {.min = 1, .max = 1'000'000});
    s.optional("write_concurrency", &Options::write_concurrency,
               "Connections, each with one request under way. Lanes share them.", {.min = 1, .max = 64});
    s.optional(
        "on_write_failure", &Options::on_write_failure,
        "What becomes of records that cannot be written: `stall` waits as long as it takes, `fail` ends the run and "
        "`drop` goes on without them, both after `max_attempts`.");
    s.optional("max_attempts", &Options::max_attempts,
               "Tries, each of `request_timeout` for every request, for `fail` and `drop`.", {.min = 1, .max = 1000});
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      iggy_sink::check(options, at, problems);
    });
    return s;
  }();
  return all;
}

Result<std::unique_ptr<Sink>> IggySink::make(IggySinkOptions options, const BuildContext& /*context*/) {
  MILLRACE_TRY(iggy_sink::check(options));
  return std::make_unique<iggy_sink::TopicSink>(std::move(options));
}

Result<std::unique_ptr<Sink>> IggySink::make(const ConfigSection& section, const BuildContext& context) {
  MILLRACE_ASSIGN(IggySinkOptions options, schema().parse(section));
  return make(std::move(options), context);
}

SinkKind IggySink::kind() {
  SinkKind kind{"iggy", schema().description(),
                [](const ConfigSection& section) -> Result<void> {
                  MILLRACE_TRY(schema().parse(section));
                  return {};
                },
                [](const ConfigSection& section, const BuildContext& context) { return make(section, context); }};
  kind.place = [](const ConfigSection& section) -> Result<std::string> {
    MILLRACE_ASSIGN(const IggySinkOptions options, schema().parse(section));
    return fmt::format("sends to topic {} of {}", iggy_sink::text_of(iggy_sink::topic_name(options)),
                       printable(options.address));
  };
  return kind;
}

Result<void> IggySink::check_not_feeding(const IggySourceOptions& source, const IggySinkOptions& sink) {
  const bool read = source.stream == sink.stream && std::ranges::find(source.topics, sink.topic) != source.topics.end();
  if (!read || !iggy_source::same_address(source.address, sink.address)) return {};
  return fail(Error::config(
      fmt::format("the sink writes to topic {}, which the source reads: a run would read its own output without end",
                  iggy_sink::text_of(iggy_sink::topic_name(sink)))));
}

Result<void> IggySink::check_apart(const IggySinkOptions& sink, const IggySinkOptions& letters) {
  const bool same = sink.stream == letters.stream && sink.topic == letters.topic;
  if (!same || !iggy_source::same_address(sink.address, letters.address)) return {};
  return fail(
      Error::config(fmt::format("records and dead letters would both go to topic {}, where nobody could tell them "
                                "apart; give one of them another",
                                iggy_sink::text_of(iggy_sink::topic_name(sink)))));
}

}  // namespace millrace
