// SPDX-License-Identifier: Apache-2.0
// LogCapture: what a component said, for tests. Thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/sync.h"

namespace millrace::s3_source {

class LogCapture final : public LogSink {
 public:
  void write(LogLevel level, std::string_view /*component*/, std::string_view message,
             std::initializer_list<LogField> fields) override {
    std::string line = level == LogLevel::debug  ? "debug "
                       : level == LogLevel::info ? "info "
                       : level == LogLevel::warn ? "warn "
                                                 : "error ";
    line += message;
    for (const LogField& field : fields) {
      line += ' ';
      line += field.key;
      line += '=' + field.value;
    }
    const MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  /// Lines that contain `text`.
  [[nodiscard]] std::size_t count(std::string_view text) const {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  [[nodiscard]] std::string all() const {
    const MutexLock lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + '\n';
    return text;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::s3_source
