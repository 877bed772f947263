// SPDX-License-Identifier: Apache-2.0
#include "cli/connector_pairs.h"

#include <fmt/format.h>

#include "millrace/connectors/s3.h"

namespace millrace::cli {

Result<PipelineConfig> read_pipeline(const Config& config, const Registry& registry) {
  MILLRACE_ASSIGN(PipelineConfig read, PipelineConfig::read(config, registry));
  if (read.source->name != "s3" || read.sink->name != "s3") return read;
  MILLRACE_ASSIGN(const S3SourceOptions source, S3Source::schema().parse(read.source_section));
  MILLRACE_ASSIGN(const S3SinkOptions sink, S3Sink::schema().parse(read.sink_section));
  if (auto apart = S3Sink::check_not_feeding(source, sink); !apart) {
    const ConfigSection& at = read.sink_section;
    return fail(Error::config(fmt::format("{}: {}: {}", at.key_where(), at.path(), apart.error().message())));
  }
  return read;
}

}  // namespace millrace::cli
