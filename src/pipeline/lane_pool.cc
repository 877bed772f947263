// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lane_pool.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

// Puts the calling thread on the `index`th of the cores the process may use. An affinity that cannot be had changes
// speed, not results, so it is not an error.
void pin_to_core(std::size_t index) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  std::size_t skip = index % static_cast<std::size_t>(std::max(CPU_COUNT(&usable), 1));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || skip-- != 0) continue;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    std::ignore = sched_setaffinity(0, sizeof(mine), &mine);
    return;
  }
}

}  // namespace

std::size_t usable_cores() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return 1;
  return static_cast<std::size_t>(std::max(CPU_COUNT(&usable), 1));
}

std::shared_ptr<LaneLoop> LanePool::assign() {
  const auto usable = [](const Seat& seat) { return std::pair(seat.written_off, seat.lanes); };
  const auto least = std::ranges::min_element(seats_, {}, usable);
  const auto running = std::ranges::count(seats_, false, &Seat::written_off);
  const bool start = running == 0 || (least->lanes != 0 && static_cast<std::size_t>(running) < options_.threads);
  Seat& seat = start ? start_thread() : *least;
  ++seat.lanes;
  return seat.loop;
}

void LanePool::release(const std::shared_ptr<LaneLoop>& loop) {
  const auto seat = std::ranges::find(seats_, loop, &Seat::loop);
  if (seat != seats_.end() && seat->lanes > 0) --seat->lanes;
}

void LanePool::write_off(const std::shared_ptr<LaneLoop>& loop) {
  const auto seat = std::ranges::find(seats_, loop, &Seat::loop);
  if (seat != seats_.end()) seat->written_off = true;
}

LanePool::Seat& LanePool::start_thread() {
  auto loop = std::make_shared<LaneLoop>(options_.board, *options_.clock, options_.poll_timeout);
  options_.budget->wake_when_room(loop->waker());
  for (const auto& open : options_.open_budgets) open->wake_when_over(loop->waker());
  const std::size_t index = seats_.size();
  AbandonableThread thread(*options_.host, fmt::format("mr-lane-{}", index),
                           [loop, index, pin = options_.pin, keep_alive = options_.keep_alive] {
                             if (pin) pin_to_core(index);
                             loop->run();
                           });
  return seats_.emplace_back(std::move(loop), std::move(thread));
}

std::size_t LanePool::quit(SteadyTime deadline) {
  for (const Seat& seat : seats_) seat.loop->send(LaneLoop::Quit{});
  std::size_t left_behind = 0;
  for (Seat& seat : seats_) {
    if (seat.thread.join_until(*options_.clock, deadline)) continue;
    seat.thread.abandon();
    ++left_behind;
  }
  seats_.clear();
  return left_behind;
}

}  // namespace millrace
