// SPDX-License-Identifier: Apache-2.0
// Error: what went wrong, where, and what a person can do. The class decides what the engine does; it is set once, at
// the edge that saw the foreign failure, and nothing later second-guesses it. A value type; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace millrace {

/// What the engine does about an error.
enum class ErrorClass {
  retryable,  ///< may pass: the stage that saw it tries again with backoff
  record,     ///< one record is bad: skipped and counted, or fails the run, as its policy says
  fatal,      ///< the run ends Failed (or does not start)
};

/// Why, for counters, tests and programs. Extend at the end of a group; the name (`to_string`) is a metric label.
enum class ErrorCode {
  internal,
  // what the user gave
  config,
  usage,
  // the outside world
  not_found,
  already_exists,
  precondition_failed,
  permission_denied,
  credentials,
  unreachable,
  timeout,
  throttled,
  unavailable,
  interrupted_transfer,
  bad_response,
  invalid_request,
  not_supported,
  out_of_space,
  io,
  closed,
  // bytes
  corrupt,
  truncated,
  too_large,
  malformed,
  wrong_type,
  missing_field,
  unknown_field,
  duplicate_key,
  invalid_utf8,
  // positions
  drift,
  fenced,
  manifest,
  limit,
  // running
  user_code,
  rule_broken,
  cancelled,
  deadline,
  stalled,
  not_durable,
  unrouted,
};
/// How many codes there are, for tables by code; the last one of all stands here.
inline constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::unrouted) + 1;

[[nodiscard]] std::string_view to_string(ErrorClass) noexcept;
[[nodiscard]] std::string_view to_string(ErrorCode) noexcept;

/// `message` is a whole sentence that names the thing, the cause, and the way out. `context` carries details for logs
/// (status, request id, key, partition, offset, stage); it never steers control flow and never holds a secret.
class [[nodiscard]] Error {
 public:
  Error(ErrorClass cls, ErrorCode code, std::string message) : class_(cls), code_(code), message_(std::move(message)) {}

  static Error fatal(ErrorCode code, std::string message) { return {ErrorClass::fatal, code, std::move(message)}; }
  static Error retryable(ErrorCode code, std::string message) {
    return {ErrorClass::retryable, code, std::move(message)};
  }
  static Error record(ErrorCode code, std::string message) { return {ErrorClass::record, code, std::move(message)}; }
  /// A configuration error: exit code 2. The message begins with file:line:col where one is known.
  static Error config(std::string message) { return fatal(ErrorCode::config, std::move(message)); }

  [[nodiscard]] ErrorClass error_class() const noexcept { return class_; }
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& context() const noexcept { return context_; }
  /// How long the other side asked to wait before the next try (Retry-After).
  [[nodiscard]] std::optional<std::chrono::nanoseconds> retry_after() const noexcept { return retry_after_; }

  Error& with(std::string key, std::string value) & {
    context_.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  Error&& with(std::string key, std::string value) && {
    context_.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  Error&& with_retry_after(std::chrono::nanoseconds wait) && {
    retry_after_ = wait;
    return std::move(*this);
  }
  /// Puts `text` in front of the message: "reading s3://b/k: <message>".
  Error&& prefixed(std::string_view text) &&;
  /// The same error in other words.
  Error&& with_message(std::string message) && {
    message_ = std::move(message);
    return std::move(*this);
  }
  /// The same error with another class, for instance a retryable one whose attempts are used up.
  Error&& as(ErrorClass cls) && {
    class_ = cls;
    return std::move(*this);
  }
  Error&& as(ErrorClass cls, ErrorCode code) && {
    code_ = code;
    return std::move(*this).as(cls);
  }

  [[nodiscard]] bool is_retryable() const noexcept { return class_ == ErrorClass::retryable; }
  [[nodiscard]] bool is_record() const noexcept { return class_ == ErrorClass::record; }
  [[nodiscard]] bool is_fatal() const noexcept { return class_ == ErrorClass::fatal; }

  /// "message [key=value ...]", for a log line.
  [[nodiscard]] std::string describe() const;

 private:
  ErrorClass class_;
  ErrorCode code_;
  std::string message_;
  std::vector<std::pair<std::string, std::string>> context_;
  std::optional<std::chrono::nanoseconds> retry_after_;
};

}  // namespace millrace
#pragma GCC visibility pop
