// SPDX-License-Identifier: Apache-2.0
#include "pipeline/committer.h"

#include <algorithm>
#include <utility>

#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

constexpr BackoffOptions kFinalRetries{std::chrono::milliseconds(100), std::chrono::seconds(2), 2.0};

}  // namespace

void Committer::hold(PartitionId partition) {
  if (const auto found = committed_.find(partition); found != committed_.end()) floors_[partition] = found->second;
}

bool Committer::is_behind(const PartitionWatermark& moved) const {
  const auto floor = floors_.find(moved.partition);
  return floor != floors_.end() && moved.watermark <= floor->second;
}

Result<void> Committer::commit_once(bool held_up) {
  last_ = options_.clock->now();
  std::vector<PartitionWatermark> moved = options_.checkpointer->take_watermarks();
  std::erase_if(moved, [this](const PartitionWatermark& one) { return is_behind(one); });
  if (moved.empty()) {
    failing_ = false;
    if (!held_up) succeeded_ = last_;
    return {};
  }
  Result<void> done = guarded("the source's commit", [&] { return options_.source->commit(moved); });
  options_.metrics->commit_seconds.observe(seconds(options_.clock->now() - last_));
  failing_ = !done;
  if (!done) {
    options_.metrics->commits_failed.add();
    options_.checkpointer->put_back(moved);
    return done;
  }
  options_.metrics->commits_ok.add();
  succeeded_ = last_;
  for (const PartitionWatermark& one : moved) committed_[one.partition] = one.watermark;
  if (options_.committed) options_.committed(moved);
  return {};
}

Result<void> Committer::commit(bool held_up) {
  Result<void> done = commit_once(held_up);
  if (done || !done.error().is_retryable()) return done;
  options_.log.warn("a commit failed; it is tried again with the next one", {{"error", done.error().describe()}});
  return {};
}

Result<void> Committer::commit_and_flush(SteadyTime deadline) {
  Backoff backoff(kFinalRetries, *options_.random);
  for (;;) {
    Result<void> done = commit_once(options_.checkpointer->pending() != 0);
    if (done) done = guarded("the source's flush_commits", [&] { return options_.source->flush_commits_by(deadline); });
    if (done || !done.error().is_retryable()) return done;
    const SteadyTime next = options_.clock->now() + backoff.next(done.error().retry_after());
    if (next >= deadline) return fail(std::move(done).error().prefixed("the last commit did not succeed in time: "));
    options_.log.warn("the last commit failed and is tried again", {{"error", done.error().describe()}});
    idle_until(next);
  }
}

// The run is ending and nothing else is left to do for the control thread.
void Committer::idle_until(SteadyTime deadline) {
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  while (options_.clock->now() < deadline) options_.clock->wait_until(never, mutex, deadline);
}

}  // namespace millrace
