// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include "cli/progress_text.h"

namespace millrace::cli {

Progress::Progress(ProgressMode mode, bool lanes, Terminal& terminal, Clock& clock,
                   std::function<PipelineSnapshot()> snapshot, std::function<void()> each_tick)
    : form_(mode == ProgressMode::none    ? Form::none
            : mode == ProgressMode::json  ? Form::json
            : mode == ProgressMode::plain ? Form::line
            : terminal.can_redraw()       ? Form::block
                                          : Form::line),
      lanes_(lanes),
      terminal_(terminal),
      clock_(clock),
      snapshot_(std::move(snapshot)),
      each_tick_(std::move(each_tick)),
      thread_("progress", [this] { loop(); }) {}

Progress::~Progress() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  terminal_.clear();
}

void Progress::loop() {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  constexpr Duration kTick = milliseconds(200);
  const Duration period = form_ == Form::line ? seconds(10) : form_ == Form::json ? seconds(1) : kTick;
  const SteadyTime start = clock_.now();
  SteadyTime shown = start;
  SteadyTime next = start;
  ProgressRates rates;
  while (true) {
    next += kTick;
    {
      const MutexLock lock(mutex_);
      while (!ended_ && clock_.now() < next) clock_.wait_until(changed_, mutex_, next);
      if (ended_) return;
    }
    each_tick_();
    if (form_ == Form::none) continue;
    const PipelineSnapshot snapshot = snapshot_();
    const SteadyTime now = clock_.now();
    rates.add(snapshot, now);
    if (now - shown < period) continue;
    shown = now;
    if (form_ == Form::block)
      terminal_.draw(progress_block(snapshot, rates, now - start, lanes_, terminal_.has_colours()));
    if (form_ == Form::line) terminal_.write(progress_line(snapshot, rates, now - start) + "\n");
    if (form_ == Form::json) terminal_.write(progress_json(snapshot, rates, now - start) + "\n");
  }
}

}  // namespace millrace::cli
