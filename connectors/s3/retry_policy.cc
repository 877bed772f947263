// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/retry_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace millrace::s3_source {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::optional<Duration> Tries::next(const Error& error, SteadyTime now) {
  if (!error.is_retryable()) return std::nullopt;
  if (failed_++ == 0) first_failure_ = now;
  const Duration left = std::max<Duration>(policy_.patience - (now - first_failure_), Duration::zero());
  const bool patient =
      policy_.has_answered && !policy_.tries_are_final && store_is_away(error) && left > Duration::zero();
  if (failed_ >= policy_.tries && !patient) return std::nullopt;
  asked_ = error.retry_after();
  wait_ = backoff_.next(asked_ ? std::optional(std::min<Duration>(*asked_, left)) : std::nullopt);
  return wait_;
}

std::string Tries::wait_text() const {
  if (!asked_for_more()) return fmt::format("{:.3g} s", seconds(wait_));
  return fmt::format(
      "{:.3g} s: the store asks for {:.0f} s, which is more than is left of store.retry_timeout ({:.0f} s)",
      seconds(wait_), seconds(*asked_), seconds(policy_.patience));
}

}  // namespace millrace::s3_source
