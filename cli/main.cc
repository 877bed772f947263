// SPDX-License-Identifier: Apache-2.0
// The program's parts list: each connector that can be named in YAML, added by hand.
#include "cli/commands.h"
#include "cli/left_out.h"
#include "millrace/connectors/console.h"
#include "millrace/connectors/iggy.h"
#ifdef MILLRACE_HAS_KAFKA
#include "millrace/connectors/kafka.h"
#endif
#include "millrace/connectors/s3.h"
#include "millrace/formats/parquet.h"
#include "millrace/pipeline/registry.h"

int main(int count, char** arguments) {
  millrace::Registry registry;
  registry.add(millrace::S3Source::kind());
  registry.add(millrace::IggySource::kind());
#ifdef MILLRACE_PARQUET  // Apache Arrow was found
  registry.add(millrace::S3Sink::kind(millrace::parquet_format()));
#else
  registry.add(millrace::S3Sink::kind());
#endif
  registry.add(millrace::IggySink::kind());
#ifdef MILLRACE_HAS_KAFKA
  registry.add(millrace::KafkaSource::kind());
  registry.add(millrace::KafkaSink::kind());
#else
  registry.add(millrace::cli::left_out_source("kafka", "librdkafka"));
  registry.add(millrace::cli::left_out_sink("kafka", "librdkafka"));
#endif
  registry.add(millrace::StdoutSink::kind());
  registry.add(millrace::BlackholeSink::kind());
  return millrace::cli::run_program(count, arguments, registry);
}
