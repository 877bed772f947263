// SPDX-License-Identifier: Apache-2.0
// Sinks without a store: `stdout` (payload and newline, or json_lines) and `blackhole` (counts).
#pragma once

#include <memory>

#include "millrace/base/result.h"
#include "millrace/config/schema.h"
#include "millrace/pipeline/registry.h"
#include "millrace/sink/sink.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class StdoutFormat { raw, json_lines };
struct StdoutSinkOptions {
  StdoutFormat format = StdoutFormat::raw;
  bool wrap = false;   ///< json_lines: the wrapper object of the s3 sink around each payload
  int descriptor = 1;  ///< for tests; not a YAML key
};
class StdoutSink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(StdoutSinkOptions options = {});
  [[nodiscard]] static SinkKind kind();
};

class BlackholeSink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make();
  [[nodiscard]] static SinkKind kind();
};

}  // namespace millrace
#pragma GCC visibility pop
