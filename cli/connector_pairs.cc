// SPDX-License-Identifier: Apache-2.0
#include "cli/connector_pairs.h"

#include <fmt/format.h>

#include "cli/letter_sizes.h"
#include "millrace/connectors/iggy.h"
#ifdef MILLRACE_HAS_KAFKA
#include "millrace/connectors/kafka.h"
#endif
#include "millrace/connectors/s3.h"

namespace millrace::cli {
namespace {

Result<void> told_of(const ConfigSection& at, Result<void> checked) {
  if (checked) return checked;
  return fail(Error::config(fmt::format("{}: {}: {}", at.key_where(), at.path(), checked.error().message())));
}

Result<void> check_feeding(const PipelineConfig& config, const SinkKind* kind, const ConfigSection& section) {
#ifdef MILLRACE_HAS_KAFKA
  if (kind != nullptr && config.source->name == "kafka" && kind->name == "kafka") {
    MILLRACE_ASSIGN(const KafkaSourceOptions from, KafkaSource::schema().parse(config.source_section));
    MILLRACE_ASSIGN(const KafkaSinkOptions to, KafkaSink::schema().parse(section));
    return told_of(section, KafkaSink::check_not_feeding(from, to));
  }
#endif
  if (kind != nullptr && config.source->name == "iggy" && kind->name == "iggy") {
    MILLRACE_ASSIGN(const IggySourceOptions from, IggySource::schema().parse(config.source_section));
    MILLRACE_ASSIGN(const IggySinkOptions to, IggySink::schema().parse(section));
    return told_of(section, IggySink::check_not_feeding(from, to));
  }
  if (kind == nullptr || config.source->name != "s3" || kind->name != "s3") return {};
  MILLRACE_ASSIGN(const S3SourceOptions source, S3Source::schema().parse(config.source_section));
  MILLRACE_ASSIGN(const S3SinkOptions sink, S3Sink::schema().parse(section));
  return told_of(section, S3Sink::check_not_feeding(source, sink));
}

Result<void> check_exactly_once(const PipelineConfig& config) {
  if (config.sink->name != "s3") return {};
  MILLRACE_ASSIGN(const S3SinkOptions sink, S3Sink::schema().parse(config.sink_section));
  if (const std::string varies = config.transforms.varies_with();
      sink.delivery == Delivery::exactly_once && !varies.empty()) {
    return told_of(
        config.sink_section,
        fail(Error::config(
            "delivery: exactly_once cannot hold beside " + varies +
            ", which may say something else when a record comes again: by chance, the clock or the "
            "machine's time zone. Take the record's own time: add_fields with value {computed: "
            "record_date_time} or {computed: record_timestamp_...}, in front of a jq that reads the field")));
  }
  const std::string gap = config.source->replay_gap
                              ? config.source->replay_gap(config.source_section)
                              : "the source never reads the same records again under the same positions";
  return told_of(config.sink_section,
                 S3Sink::check_exactly_once(sink, gap, !config.receipt.url.empty(), config.dead_letter != nullptr));
}

Result<void> check_letters(const PipelineConfig& config) {
  if (config.dead_letter == nullptr) return {};
  const ConfigSection& at = config.dead_letter_section;
  MILLRACE_TRY(told_of(at, check_letter_sizes(config)));
  if (config.dead_letter->name == "s3") {
    MILLRACE_ASSIGN(const S3SinkOptions letters, S3Sink::schema().parse(at));
    MILLRACE_TRY(told_of(at, S3Sink::check_holds_letters(letters)));
  }
  if (config.dead_letter->name != config.sink->name) return {};
  if (config.sink->name == "stdout") {
    return told_of(at, fail(Error::config("records and dead letters would both go to standard output, where nobody "
                                          "could tell them apart; give one of them another place")));
  }
#ifdef MILLRACE_HAS_KAFKA
  if (config.sink->name == "kafka") {
    MILLRACE_ASSIGN(const KafkaSinkOptions records, KafkaSink::schema().parse(config.sink_section));
    MILLRACE_ASSIGN(const KafkaSinkOptions letters, KafkaSink::schema().parse(at));
    const KafkaSourceOptions reader{.brokers = records.brokers, .topics = {records.topic}};
    if (KafkaSink::check_not_feeding(reader, letters)) return {};
    return told_of(at, fail(Error::config(fmt::format("dead letters would go to topic '{}', which has the records; "
                                                      "give them a topic of their own",
                                                      letters.topic))));
  }
#endif
  if (config.sink->name == "iggy") {
    MILLRACE_ASSIGN(const IggySinkOptions sink, IggySink::schema().parse(config.sink_section));
    MILLRACE_ASSIGN(const IggySinkOptions letters, IggySink::schema().parse(at));
    return told_of(at, IggySink::check_apart(sink, letters));
  }
  if (config.sink->name != "s3") return {};
  MILLRACE_ASSIGN(const S3SinkOptions sink, S3Sink::schema().parse(config.sink_section));
  MILLRACE_ASSIGN(const S3SinkOptions letters, S3Sink::schema().parse(at));
  return told_of(at, S3Sink::check_apart(sink, letters));
}

}  // namespace

Result<PipelineConfig> read_pipeline(const Config& config, const Registry& registry) {
  MILLRACE_ASSIGN(PipelineConfig read, PipelineConfig::read(config, registry));
  MILLRACE_TRY(check_feeding(read, read.sink, read.sink_section));
  MILLRACE_TRY(check_feeding(read, read.dead_letter, read.dead_letter_section));
  MILLRACE_TRY(check_letters(read));
  MILLRACE_TRY(check_exactly_once(read));
  return read;
}

}  // namespace millrace::cli
