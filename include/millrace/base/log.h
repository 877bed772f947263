// SPDX-License-Identifier: Apache-2.0
// Log lines: level, component, message, key=value fields. One line an event; a repeated message is folded with a count.
// Thread-safe. Never on the per-record path. No secret ever reaches a call here.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)
namespace millrace {

enum class LogLevel { debug, info, warn, error, off };

struct LogField {
  std::string_view key;
  std::string value;
};

/// Where log lines go. The program installs one that writes text or JSON to stderr; a library user may install any.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(LogLevel level, std::string_view component, std::string_view message,
                     std::initializer_list<LogField> fields) = 0;
};

/// A component's handle on the log. Cheap to copy.
class Logger {
 public:
  Logger() = default;
  Logger(std::shared_ptr<LogSink> sink, std::string component, LogLevel level = LogLevel::info)
      : sink_(std::move(sink)), component_(std::move(component)), level_(level) {}

  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) const {
    if (sink_ && level >= level_) sink_->write(level, component_, message, fields);
  }
  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    log(LogLevel::debug, message, fields);
  }
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    log(LogLevel::info, message, fields);
  }
  void warn(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    log(LogLevel::warn, message, fields);
  }
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    log(LogLevel::error, message, fields);
  }

  /// The same sink and level under another component name.
  [[nodiscard]] Logger named(std::string component) const { return {sink_, std::move(component), level_}; }

 private:
  std::shared_ptr<LogSink> sink_;
  std::string component_;
  LogLevel level_ = LogLevel::info;
};

}  // namespace millrace
#pragma GCC visibility pop
