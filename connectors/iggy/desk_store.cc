// SPDX-License-Identifier: Apache-2.0
// The part of Desk that stores what is settled, and first looks whether the server still has the messages it is about.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "connectors/iggy/desk.h"
#include "connectors/iggy/held.h"

namespace millrace::iggy_source {

// What it means for what is settled. A group that was made anew has no offsets.
void Desk::told(const Ours& ours) {
  std::set<PartitionId> ids;
  for (const Partition partition : ours.partitions) ids.insert(id_of(partition));
  for (const PartitionWatermark& one : positions_->assigned(ids)) {
    metrics_.dropped_stores.add();
    log_.warn(
        "an offset was not stored, as the partition is another member's by now; that one reads some records again",
        {{"partition", text(*options_, partition_of(one.partition))},
         {"offset", std::to_string(one.watermark.value() - 1)}});
  }
  if (ours.joined) positions_->doubt_all();
  if (!ours.joined && positions_->to_store().empty()) return;
  const MutexLock lock(mutex_);
  to_store_ = true;
}

// A server that was away may have lost what it had not written, and an offset that is stored then would stand for
// another message: what was made durable is looked at first. One partition that cannot be looked at stops no other.
Result<void> Desk::settle_doubts() {
  Result<void> done;
  for (const Positions::Doubt& doubt : positions_->doubts()) {
    const Partition partition = partition_of(doubt.id);
    if (doubt.known) {
      Result<std::optional<std::string>> loss = loss_of(*client_, *options_, partition, *doubt.known);
      if (!loss && !client_->connected()) return millrace::fail(std::move(loss).error());
      if (!loss) {
        if (done) done = millrace::fail(std::move(loss).error());
        continue;
      }
      if (*loss) {
        lose(partition, **std::move(loss));
        continue;
      }
    }
    positions_->trust(doubt.id);
  }
  return done;
}

Result<void> Desk::store_settled() {
  Result<void> done;
  for (const PartitionWatermark& one : positions_->to_store()) {
    Result<void> stored = store(one);
    if (!stored && !client_->connected()) return stored;
    if (done && !stored) done = std::move(stored);
  }
  return done;
}

Result<void> Desk::store(PartitionWatermark position) {
  const Partition partition = partition_of(position.partition);
  const std::optional<std::uint64_t> offset = stored_offset(position.watermark);
  if (!offset) return {};
  MILLRACE_ASSIGN(
      const iggy::StoreOutcome outcome,
      client_->store_offset(consumer_of(*options_), topic_name(*options_, partition.topic), partition.number, *offset));
  switch (outcome) {
    case iggy::StoreOutcome::stored:
      positions_->stored(position);
      metrics_.stores.add();
      return {};
    case iggy::StoreOutcome::not_ours: {
      // Nobody asks any more whose it is.
      if (failed_) {
        positions_->withdraw(position.partition);
        return {};
      }
      const bool again = positions_->refused(position.partition);
      {
        const MutexLock lock(mutex_);
        look_now_ = true;
      }
      if (!again) return {};
      return millrace::fail(Error::retryable(
          ErrorCode::fenced, fmt::format("{}: the server says that it is ours, and refuses to store offset {} as it is "
                                         "another member's",
                                         text(*options_, partition), *offset)));
    }
    case iggy::StoreOutcome::beyond_end:
      return refused_as_beyond(position, *offset);
  }
  return {};
}

// The partition is shorter, or merely empty: nothing can be stored of one that is.
Result<void> Desk::refused_as_beyond(PartitionWatermark position, std::uint64_t offset) {
  const Partition partition = partition_of(position.partition);
  MILLRACE_ASSIGN(const iggy::PartitionInfo info, figures(*client_, *options_, partition));
  if (end_of(info) < position.watermark) {
    lose(partition, fmt::format("offset {} is durable here, but the server's next offset is {}: it lost its newest "
                                "messages, or the topic was purged",
                                offset, end_of(info).value()));
    return {};
  }
  if (info.messages == 0) {
    positions_->unstorable(position);
    return {};
  }
  return millrace::fail(Error::retryable(
      ErrorCode::bad_response, fmt::format("{}: the server refuses to store offset {}, though it holds messages up to "
                                           "offset {}",
                                           text(*options_, partition), offset, info.last_offset)));
}

}  // namespace millrace::iggy_source
