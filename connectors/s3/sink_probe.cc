// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink_probe.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/base/backoff.h"
#include "millrace/base/printable.h"
#include "millrace/base/sync.h"

namespace millrace::s3_sink {
namespace {

constexpr std::string_view kBody = "millrace was here; this object may be removed\n";

void wait(Clock& clock, Duration duration) {
  Mutex mutex;
  CondVar nobody;
  const SteadyTime until = clock.now() + duration;
  const MutexLock lock(mutex);
  while (clock.now() < until) clock.wait_until(nobody, mutex, until);
}

Result<PutResult> put_with_retries(const Probe& probe, PutCondition condition) {
  Backoff backoff(probe.retry.backoff, *probe.random);
  for (int attempt = 1;; ++attempt) {
    auto put =
        probe.store->put({.key = probe.key, .body = kBody, .condition = condition, .content_type = "text/plain"});
    if (put || !put.error().is_retryable() || attempt >= probe.retry.max_attempts) return put;
    const Duration delay = backoff.next(put.error().retry_after());
    probe.log.warn("the probe of the sink failed; trying again",
                   {{"key", printable_key(probe.name)}, {"error", put.error().message()}});
    wait(*probe.clock, delay);
  }
}

bool refused(const Result<PutResult>& put) { return !put && put.error().code() == ErrorCode::precondition_failed; }

void warn_of(const Probe& probe, std::string_view what) {
  probe.log.warn(fmt::format("{}; each key is looked at before it is written, so only one run may write here", what),
                 {{"key", printable_key(probe.name)}});
}

/// A put of a key that exists must be refused, and the put of one that does not must not be.
Result<bool> conditions_hold(const Probe& probe) {
  auto first = put_with_retries(probe, PutCondition::if_absent);
  if (!first && first.error().code() == ErrorCode::not_supported) {
    MILLRACE_TRY(put_with_retries(probe, PutCondition::none));
    warn_of(probe, "the store takes no create-only put");
    return false;
  }
  if (!first && !refused(first)) return fail(std::move(first).error());
  if (!first) {  // left over from an earlier start that was not allowed to remove it; or B09
    const auto head = probe.store->head(probe.key);
    MILLRACE_TRY(put_with_retries(probe, PutCondition::none));
    if (!head && head.error().code() == ErrorCode::not_found) {
      warn_of(probe, "the store refuses create-only puts of keys that do not exist");
      return false;
    }
  }
  const auto second = put_with_retries(probe, PutCondition::if_absent);
  if (refused(second)) return true;
  if (!second) return fail(second.error());
  warn_of(probe, "the store ignores the condition of a create-only put");
  return false;
}

}  // namespace

Result<bool> run_probe(const Probe& probe) {
  Result<bool> holds = true;
  if (probe.needs_conditions) {
    holds = conditions_hold(probe);
  } else if (auto put = put_with_retries(probe, PutCondition::none); !put) {
    holds = fail(std::move(put).error());
  }
  if (!holds) {
    const bool denied = holds.error().code() == ErrorCode::permission_denied;
    return fail(std::move(holds)
                    .error()
                    .as(ErrorClass::fatal)
                    .prefixed(fmt::format("the sink's probe of {} failed{}: ", printable_key(probe.name),
                                          denied ? " (the sink needs s3:PutObject below its prefix)" : "")));
  }
  if (const auto removed = probe.store->remove(probe.key); !removed) {
    probe.log.debug("the probe was not removed", {{"error", removed.error().message()}});
  }
  return holds;
}

}  // namespace millrace::s3_sink
