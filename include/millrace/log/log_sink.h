// SPDX-License-Identifier: Apache-2.0
// ProgramLog: the LogSink of the program: one line an event, as text or JSON, to stderr; what repeats is folded with a
// count. A library user may install it or any other LogSink. Thread-safe; made and owned by the program.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "millrace/base/log.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class LogFormat {
  text,  ///< 2026-07-01T12:00:00Z info  s3-source  message key=value
  json,  ///< {"time": ..., "level": ..., "component": ..., "message": ..., "key": "value"}
};

struct ProgramLogOptions {
  LogFormat format = LogFormat::text;
  /// How long after a line the next ones of its kind are counted instead of written; 0: every line is written. A kind
  /// is level, component and message; for info lines also the fields, and debug lines are never folded.
  Duration fold_within = std::chrono::seconds(10);
  /// Where a line goes, its newline included; one call at a time. Empty: stderr.
  std::function<void(std::string_view line)> output;
  Clock* clock = &Clock::real();
};

class ProgramLog : public LogSink {
 public:
  [[nodiscard]] static std::shared_ptr<ProgramLog> make(ProgramLogOptions options = {});

  /// Writes what has been folded for long enough. Call it now and then, so that a count does not wait for the next
  /// event.
  virtual void tick() = 0;
  /// Writes all that is folded, whatever its age. Call it at the end of the program.
  virtual void flush() = 0;
};

}  // namespace millrace
#pragma GCC visibility pop
