// SPDX-License-Identifier: Apache-2.0
// Progress: tells how a run goes, on a thread of its own, from snapshots. Owned by the run command.
#pragma once

#include <functional>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::cli {

class Progress {
 public:
  /// Starts. `mode` automatic is a block where `terminal` can redraw one, else plain. `each_tick` is called some times
  /// a second, on the thread. All references outlive it.
  Progress(ProgressMode mode, bool lanes, Terminal& terminal, Clock& clock, std::function<PipelineSnapshot()> snapshot,
           std::function<void()> each_tick);
  /// Stops, and takes the block away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  enum class Form { block, line, json, none };
  void loop();

  const Form form_;
  const bool lanes_;
  Terminal& terminal_;
  Clock& clock_;
  const std::function<PipelineSnapshot()> snapshot_;
  const std::function<void()> each_tick_;
  Mutex mutex_;
  CondVar changed_;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  Thread thread_;  ///< last: it uses the fields above
};

}  // namespace millrace::cli
