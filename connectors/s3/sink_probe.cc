// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink_probe.h"

#include <fmt/format.h>

#include <chrono>
#include <tuple>
#include <utility>

#include "connectors/s3/content_match.h"
#include "millrace/base/backoff.h"
#include "millrace/base/printable.h"
#include "millrace/base/stop_watch.h"

namespace millrace::s3_sink {
namespace {

constexpr std::string_view kBody = "millrace was here; this object may be removed\n";
constexpr int kRounds = 5;  ///< before the store, rather than another run that probes too, is blamed
constexpr BackoffOptions kBetweenRounds{std::chrono::milliseconds(20), std::chrono::milliseconds(500), 2.0};

struct Run : Probe {
  StopSignal* stop = nullptr;
};

Error stopped() { return Error::fatal(ErrorCode::cancelled, "the run was asked to stop"); }

Result<PutResult> put_with_retries(const Run& probe, PutCondition condition) {
  Backoff backoff(probe.retry.backoff, *probe.random);
  for (int attempt = 1;; ++attempt) {
    auto put =
        probe.store->put({.key = probe.key, .body = kBody, .condition = condition, .content_type = "text/plain"});
    if (put || !put.error().is_retryable() || attempt >= probe.retry.max_attempts) return put;
    const Duration delay = backoff.next(put.error().retry_after());
    probe.log.warn("the probe of the sink failed; trying again",
                   {{"key", printable_key(probe.name)}, {"error", put.error().message()}});
    if (probe.stop->wait(*probe.clock, delay)) return fail(stopped());
  }
}

bool refused(const Result<PutResult>& put) { return !put && put.error().code() == ErrorCode::precondition_failed; }

void warn_of(const Run& probe, std::string_view what) {
  probe.log.warn(fmt::format("{}; each key is looked at before it is written, so only one run may write here", what),
                 {{"key", printable_key(probe.name)}});
}

enum class Seen { ours, nothing, hidden };

/// What lies at the probe's key. A real object there is refused: a probe must not touch it.
Result<Seen> look(const Run& probe) {
  const auto found = match_content(*probe.store, probe.key, kBody);
  if (!found) return Seen::hidden;  // looking needs rights that a sink can do without
  if (found->match == Match::absent) return Seen::nothing;
  if (found->match == Match::same) return Seen::ours;
  return fail(Error::config(fmt::format(
      "an object that is no probe lies there ({}); name another probe_key, or set probe: false", found->how)));
}

Result<bool> without_conditions(const Run& probe) {
  MILLRACE_TRY(put_with_retries(probe, PutCondition::none));
  warn_of(probe, "the store takes no create-only put");
  return false;
}

/// A put of a key that exists must be refused, and the put of one that does not must not be. Another run that probes
/// the same key at the same time makes either look broken. But a store that ignores the condition refuses nothing, and
/// one that refuses everything takes nothing: one put of each kind, in any round, clears it of both.
Result<bool> conditions_hold(const Run& probe, bool& ours) {
  Backoff pause(kBetweenRounds, *probe.random);
  bool taken = false;  // a create-only put has succeeded
  bool refusal = false;
  for (int round = 1;; ++round) {
    auto first = put_with_retries(probe, PutCondition::if_absent);
    if (!first && first.error().code() == ErrorCode::not_supported) {
      ours = true;
      return without_conditions(probe);
    }
    if (!first && !refused(first)) return fail(std::move(first).error());
    if (first) {
      taken = ours = true;
      const auto second = put_with_retries(probe, PutCondition::if_absent);
      if (!second && !refused(second)) return fail(second.error());
      refusal = refusal || refused(second);
    } else {  // left over from a start that was not allowed to remove it; another run's; or B09
      refusal = true;
      MILLRACE_ASSIGN(const Seen seen, look(probe));
      ours = seen == Seen::ours;
      if (seen != Seen::nothing) return true;
    }
    if (taken && refusal) return true;
    if (round == kRounds) break;
    if (probe.stop->wait(*probe.clock, pause.next())) return fail(stopped());
  }
  warn_of(probe, taken ? "the store ignores the condition of a create-only put"
                       : "the store refuses create-only puts of keys that do not exist");
  return false;
}

Result<bool> probe_store(const Run& probe, bool& ours) {
  MILLRACE_ASSIGN(const Seen seen, look(probe));
  ours = seen == Seen::ours;
  if (probe.needs_conditions) return conditions_hold(probe, ours);
  MILLRACE_TRY(put_with_retries(probe, PutCondition::none));
  ours = true;
  return true;
}

Result<bool> probe_and_remove(const Run& probe) {
  bool ours = false;  // what lies at the key is known to be a probe
  Result<bool> holds = probe_store(probe, ours);
  if (!holds) {
    const bool denied = holds.error().code() == ErrorCode::permission_denied;
    return fail(std::move(holds)
                    .error()
                    .as(ErrorClass::fatal)
                    .prefixed(fmt::format("the sink's probe of {} failed{}: ", printable_key(probe.name),
                                          denied ? " (the sink needs s3:PutObject below its prefix)" : "")));
  }
  if (const auto removed = ours ? probe.store->remove(probe.key) : Result<void>(); !removed) {
    probe.log.debug("the probe was not removed", {{"error", removed.error().message()}});
  }
  return holds;
}

}  // namespace

Result<bool> run_probe(const Probe& probe) {
  StopWatch watch("mr-probe-stop", probe.stop_requested, [&probe] { probe.store->cancel_all(); });
  Result<bool> holds = probe_and_remove(Run{probe, &watch.stop()});
  // Also when the probe was through: the store takes no further calls.
  if (watch.end()) return fail(stopped().prefixed(fmt::format("the sink's probe of {}: ", printable_key(probe.name))));
  return holds;
}

}  // namespace millrace::s3_sink
