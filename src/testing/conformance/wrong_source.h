// SPDX-License-Identifier: Apache-2.0
// A source over a MemoryTopic that keeps every rule, or breaks the one it is told to. For tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/testing/memory_source.h"
#include "millrace/testing/source_conformance.h"

namespace millrace::conformance {

enum class WrongSource {
  none,
  answers_change_at_open,
  loses_last_record,
  assigns_a_delta,
  hands_a_lane_out_twice,
  spins,
  wakes_nobody,
  gives_too_many,
  offsets_go_back,
  lends_shared_memory,
  acks_one_too_far,
  keeps_an_ack,
  issues_before_the_epoch,
  keeps_last_instead_of_next,
  commits_what_is_read,
  commits_before_the_barrier,
  goes_on_where_it_read,
  blocks_for_events,
  forgets_at_a_pause,
  never_finishes,
  ends_at_a_failure,
  swallows_a_failed_commit,
  begins_anew,
  tells_runs_apart,
};

/// What lies outside, shared by instances.
struct WrongWorld {
  std::shared_ptr<testing::MemoryTopic> topic;
  WrongSource wrong = WrongSource::none;
  bool ends = false;
  bool rebalances = false;  ///< asked for by a test
  bool gone = false;        ///< what is read next fails
  int instances = 0;
};

[[nodiscard]] SourceUnderTest wrong_source(WrongSource wrong, bool ends);

}  // namespace millrace::conformance
