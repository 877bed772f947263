// SPDX-License-Identifier: Apache-2.0
// RetryPolicy: when the source gives up on a request that may pass. Values; any thread.
#pragma once

#include "millrace/base/backoff.h"
#include "millrace/base/error.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

struct RetryPolicy {
  /// Tries in a row that bring nothing, the first one included.
  int tries = 8;
  /// A store that asks to come back later, or cannot be reached at all, is given this long as well: an outage of a
  /// minute does not end a backfill of a day.
  Duration patience{0};
  BackoffOptions backoff{.initial = std::chrono::milliseconds(200), .cap = std::chrono::seconds(5)};
};

/// The store itself cannot serve now, whatever is asked of it; asking for something else does not help.
[[nodiscard]] inline bool store_is_away(const Error& error) noexcept {
  return error.code() == ErrorCode::throttled || error.code() == ErrorCode::unavailable ||
         error.code() == ErrorCode::unreachable;
}

/// Tries of one request, counted from the last progress. One thread at a time.
class Tries {
 public:
  Tries(const RetryPolicy& policy, Random& random) : policy_(policy), backoff_(policy.backoff, random) {}

  /// Something arrived: the count begins again.
  void progress() {
    failed_ = 0;
    backoff_.reset();
  }
  /// One more try has failed with `error` at `now`: how long to wait before the next, or nothing when it is time to
  /// give up (or the error will not pass).
  [[nodiscard]] std::optional<Duration> next(const Error& error, SteadyTime now) {
    if (!error.is_retryable()) return std::nullopt;
    if (failed_++ == 0) first_failure_ = now;
    const bool patient = store_is_away(error) && now - first_failure_ < policy_.patience;
    if (failed_ >= policy_.tries && !patient) return std::nullopt;
    return backoff_.next(error.retry_after());
  }
  [[nodiscard]] int failed() const noexcept { return failed_; }

 private:
  RetryPolicy policy_;
  Backoff backoff_;
  int failed_ = 0;
  SteadyTime first_failure_{};
};

}  // namespace millrace::s3_source
