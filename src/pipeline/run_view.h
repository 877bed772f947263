// SPDX-License-Identifier: Apache-2.0
// RunView: what the control thread posts about a run for anybody who wants to look (Pipeline::snapshot). Thread-safe.
#pragma once

#include <cstddef>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/source/source.h"

namespace millrace {

struct RunView {
  Atomic<PipelineSnapshot::Phase> phase{PipelineSnapshot::Phase::starting};
  Atomic<std::uint64_t> pending_batches{0};
  Atomic<std::uint64_t> inflight_bytes{0};
  Atomic<std::size_t> lanes{0};
  Atomic<std::size_t> lanes_exhausted{0};
  Atomic<std::size_t> lanes_blocked{0};
  Atomic<std::size_t> lanes_idle{0};
  Atomic<bool> commit_failing{false};
  Atomic<SteadyTime> committed{SteadyTime()};  ///< when a commit last succeeded; zero before the run
  Atomic<SteadyTime> heartbeat{SteadyTime()};  ///< of the control thread; zero before the run

  /// The source while the run has it. Held only to ask it; the run takes it away at its end.
  Mutex source_mutex;
  Source* source MILLRACE_GUARDED_BY(source_mutex) = nullptr;
};

}  // namespace millrace
