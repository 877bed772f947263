// SPDX-License-Identifier: Apache-2.0
// Source: the control plane, driven by the one control thread. It hands out lanes, hears which positions are settled,
// and keeps them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/ack/ack_issuer.h"
#include "millrace/ack/ledger.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/metrics/meter.h"
#include "millrace/source/lane.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Where a revocation or a shutdown waits for the data plane: stop the lanes, flush the chains, seal and write what is
/// open, resolve, final synchronous commit. Made by the engine; shared.
class DrainBarrier {
 public:
  virtual ~DrainBarrier() = default;
  /// Control thread only. Pumps acknowledgements while it waits, so a source may wait inside poll_events. Returns the
  /// final watermarks of the revoked partitions once everything in flight has resolved or the drain deadline has
  /// passed.
  [[nodiscard]] virtual std::vector<PartitionWatermark> wait() = 0;
};

/// The whole assignment; begins an epoch. A source that still has live lanes must revoke them first.
struct LanesAssigned {
  std::vector<std::unique_ptr<SourceLane>> lanes;
};
/// These lanes must go. The engine drains them, commits their final watermarks, calls flush_commits, then
/// Source::revoked. `barrier` is null unless the source began the revocation itself with
/// SourceContext::begin_revocation.
struct LanesRevoked {
  std::vector<LaneId> lanes;
  std::shared_ptr<DrainBarrier> barrier;
};
/// A bounded source has no more lanes to give and no more events. The run ends when every lane is exhausted, everything
/// is acknowledged and the last commit is durable. poll_events is not called again.
struct Finished {};
using SourceEvent = std::variant<Idle, LanesAssigned, LanesRevoked, Finished>;

/// What the engine lends a source for the run. Copyable.
struct SourceContext {
  AckIssuer acks;        ///< copy one into every lane
  std::string pipeline;  ///< the pipeline's name
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
  Meter meter;    ///< labelled with the source's component
  Waker control;  ///< wakes the control loop
  /// Of a source that keeps account; else null. Ask it in commit() for what became of the records behind a watermark.
  std::shared_ptr<Ledger> ledger;
  std::size_t max_inflight_bytes = 0;  ///< the engine's own bound, for sources that size their prefetch by it
  /// For a source told inside its own poll_events that lanes must go: starts their drain and returns the barrier to
  /// wait on. May be empty (a bare checkpointer in a test).
  std::function<std::shared_ptr<DrainBarrier>(std::span<const LaneId>)> begin_revocation;
};

/// How far a source is, for progress and /status. Totals are 0 when unknown.
struct SourceProgress {
  std::string phase;  ///< "listing", "reading", ...
  std::uint64_t objects_total = 0;
  std::uint64_t objects_done = 0;
  std::uint64_t objects_skipped = 0;      ///< of those done: left out unread on purpose, by earlier runs too
  std::uint64_t objects_quarantined = 0;  ///< of those done: could not be read and were set aside, by earlier runs too
  std::uint64_t bytes_total = 0;          ///< stored (compressed) bytes
  std::uint64_t bytes_done = 0;
  struct Lane {
    LaneId lane;
    std::uint64_t objects_total = 0;
    std::uint64_t objects_done = 0;
    std::string current;  ///< the object being read, escaped for display
  };
  std::vector<Lane> lanes;
};

class Source {
 public:
  virtual ~Source() = default;

  /// Once, before all else. Connect here.
  [[nodiscard]] virtual Result<void> open(SourceContext context) = 0;
  /// Services control-plane work and returns the next event, waiting at most `timeout`. Called regularly whatever the
  /// back-pressure. Never blocks on data-plane progress, DrainBarrier::wait excepted.
  [[nodiscard]] virtual Result<SourceEvent> poll_events(Duration timeout) = 0;
  /// Watermarks that moved: store them as they are, one past the last acknowledged offset. Durability is the source's
  /// policy. A retryable error is tried again with the next commit; a fatal one ends the run.
  [[nodiscard]] virtual Result<void> commit(std::span<const PartitionWatermark> watermarks) = 0;
  /// Everything committed so far is durable on return. Called at revocation and at the end.
  [[nodiscard]] virtual Result<void> flush_commits() { return {}; }
  /// flush_commits with an end: what the engine calls. A source whose flush may wait for others overrides this one, so
  /// that it has returned, with an error if need be, by `deadline`.
  [[nodiscard]] virtual Result<void> flush_commits_by(SteadyTime /*deadline*/) { return flush_commits(); }
  /// Back-pressure hooks: stop and restart fetching for these lanes. The lanes stay assigned and are not polled
  /// meanwhile.
  virtual void pause(std::span<const LaneId> /*lanes*/) {}
  virtual void resume(std::span<const LaneId> /*lanes*/) {}
  /// The lanes are drained, committed and destroyed.
  virtual void revoked(std::span<const LaneId> /*lanes*/) {}
  /// The run is over (after the last flush_commits); release what is held for others, such as the ownership of a
  /// manifest.
  virtual void close() {}
  /// close with an end: what the engine calls. What cannot be released by `deadline` is given up.
  virtual void close_by(SteadyTime /*deadline*/) { close(); }

  /// True for a source that keeps account of what becomes of each record (SourceContext::ledger). Asked before open.
  [[nodiscard]] virtual bool keeps_account() const { return false; }
  /// Why the same position may stand for another record in another run, in words that say what to set; empty when it
  /// never does under one Origin::lineage. A sink that writes exactly once asks, before open.
  [[nodiscard]] virtual std::string replay_gap() const {
    return "this source does not say that it reads the same records again under the same positions";
  }
  /// True for a source that ends by itself; decides the exit code of a stop.
  [[nodiscard]] virtual bool bounded() const { return false; }
  /// Any thread.
  [[nodiscard]] virtual SourceProgress progress() const { return {}; }
  /// Any thread: JSON text for /status with what is committed; empty when there is nothing to say.
  [[nodiscard]] virtual std::string status_json() const { return {}; }
  /// One line for the end of a run: what is committed and how to go on. Empty when there is nothing to say.
  [[nodiscard]] virtual std::string committed_summary() const { return {}; }
};

}  // namespace millrace
#pragma GCC visibility pop
