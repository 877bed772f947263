// SPDX-License-Identifier: Apache-2.0
// RetryPolicy: when the source gives up on a request that may pass. Values; any thread.
#pragma once

#include <optional>
#include <string>

#include "millrace/base/backoff.h"
#include "millrace/base/error.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

struct RetryPolicy {
  /// Tries in a row that bring nothing, the first one included.
  int tries = 8;
  /// `tries` was asked for: then it is the end, also of a store that is away.
  bool tries_are_final = false;
  /// A store that is away is given this long as well: an outage of a minute does not end a backfill of a day. And the
  /// longest that a Retry-After is obeyed, counted from the first failure.
  Duration patience{0};
  /// False: nothing has come from this store yet, so it is rather a wrong one, or the keys are: the tries, and no more.
  bool has_answered = true;
  BackoffOptions backoff{.initial = std::chrono::milliseconds(200), .cap = std::chrono::seconds(5)};

  [[nodiscard]] RetryPolicy before_the_first_answer() const {
    RetryPolicy policy = *this;
    policy.has_answered = false;
    return policy;
  }
};

/// The store itself cannot serve now, whatever is asked of it; asking for something else does not help. Keys that are
/// refused are such a case where an error is retryable at all: they are renewed ones, or those of a service that is
/// out.
[[nodiscard]] inline bool store_is_away(const Error& error) noexcept {
  return error.code() == ErrorCode::throttled || error.code() == ErrorCode::unavailable ||
         error.code() == ErrorCode::unreachable || error.code() == ErrorCode::credentials;
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
  [[nodiscard]] std::optional<Duration> next(const Error& error, SteadyTime now);
  [[nodiscard]] int failed() const noexcept { return failed_; }
  /// What the last wait is, for a log: "1.5 s", or "180 s: the store asks for 3600 s, ..." where that is not obeyed.
  [[nodiscard]] std::string wait_text() const;
  /// The store asked for a longer wait than the last one is.
  [[nodiscard]] bool asked_for_more() const noexcept { return asked_ && *asked_ > wait_; }

 private:
  RetryPolicy policy_;
  Backoff backoff_;
  int failed_ = 0;
  SteadyTime first_failure_{};
  Duration wait_{0};
  std::optional<Duration> asked_;  // by the last error
};

}  // namespace millrace::s3_source
