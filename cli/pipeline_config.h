// SPDX-License-Identifier: Apache-2.0
// PipelineConfig: what a pipeline file says, checked as a whole before anything is opened. Made on the main thread;
// immutable afterwards.
#pragma once

#include <string>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/config/config.h"
#include "millrace/config/schema.h"
#include "millrace/log/log_sink.h"
#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/pipeline/registry.h"

namespace millrace::cli {

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
};

struct MetricsOptions {
  std::string listen = "none";
  std::string name_space = "etl";
  bool per_partition_detail = false;
};

struct PipelineConfig {
  PipelineOptions pipeline;
  DecodeOptions decode;
  ops::TransformProgram transforms;
  MetricsOptions metrics;
  LogOptions log;
  const SourceKind* source = nullptr;  ///< in the registry
  ConfigSection source_section;
  ReceiptRequest receipt;
  const SinkKind* sink = nullptr;
  ConfigSection sink_section;
  const SinkKind* dead_letter = nullptr;  ///< null: records that are skipped are kept nowhere
  ConfigSection dead_letter_section;

  /// Every problem of the file in one config error. `registry` outlives the result.
  [[nodiscard]] static Result<PipelineConfig> read(const Config& config, const Registry& registry);
};

/// The whole file as a schema: sections of the engine, and a section per connector of `registry`.
[[nodiscard]] ComponentDescription describe_pipeline_file(const Registry& registry);

/// True when the value at a path of a pipeline file ("sink.s3.secret_access_key") must not be shown.
[[nodiscard]] bool is_secret_path(const Registry& registry, std::string_view path);

/// The same of a change as `--set` takes it, whose value may be a mapping or a list with secrets somewhere inside.
[[nodiscard]] bool holds_secret(const Registry& registry, const std::string& path, const std::string& value);

}  // namespace millrace::cli
