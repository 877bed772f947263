// SPDX-License-Identifier: Apache-2.0
// SourceLane: the data plane of a source, one pollable unit pinned to one pipeline thread. What a poll returns borrows
// the lane until the next poll.
#pragma once

#include <cstddef>
#include <variant>

#include "millrace/base/borrow.h"
#include "millrace/base/error.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/source/payload_batch.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Nothing arrived within the timeout.
struct Idle {};
/// Nothing will ever arrive again; the lane is not polled again.
struct Exhausted {};
using PollResult = std::variant<Idle, PayloadBatch, Exhausted>;

class SourceLane {
 public:
  virtual ~SourceLane() = default;
  [[nodiscard]] virtual LaneId id() const = 0;
  /// Fixed for the lane's life.
  [[nodiscard]] virtual PartitionId partition() const = 0;

  /// At most `max_records` payloads, waiting at most `timeout` for the first (zero: only what is there). Never spins:
  /// Idle before the timeout is a broken rule unless a Waker was taken. Offsets rise strictly over the lane's life. An
  /// error ends the run (fatal), whatever its class: a lane retries inside what may pass.
  [[nodiscard]] virtual Result<PollResult> poll(std::size_t max_records, Duration timeout) MILLRACE_LIFETIME_BOUND = 0;

  /// A payload of the latest polled batch, the one at offset `failed`, was refused by the chain with `error`, which
  /// ends the run unless the lane sets aside what the payload belongs to. True: the batch's payloads from `failed` on
  /// are not delivered, their part of its ack is settled, and the next poll goes on behind what was set aside. Before
  /// the next poll, while the batch's payloads are still lent; issues no ack. On the lane's thread, like poll.
  [[nodiscard]] virtual bool set_aside(Offset /*failed*/, const Error& /*error*/) { return false; }

  /// Offers a waker, before the first poll. A lane that takes it (true) calls wake() from any thread whenever a poll
  /// may have something new, and is polled with no timeout; its thread sleeps when all its lanes are idle.
  virtual bool set_waker(Waker /*waker*/) { return false; }
};

}  // namespace millrace
#pragma GCC visibility pop
