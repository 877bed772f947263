// SPDX-License-Identifier: Apache-2.0
// Membership: which partitions are this process's to read: those that its group's members were given, or those that are
// listed. Asks over a client that is lent for the call; belongs to the thread that has it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "connectors/iggy/options.h"
#include "connectors/iggy/partition.h"
#include "connectors/iggy/topics.h"
#include "millrace/base/log.h"

namespace millrace::iggy_source {

struct Ours {
  std::vector<Partition> partitions;  ///< in order
  bool joined = false;  ///< this process was no member before: the group may be another one of the same name
};

class Membership {
 public:
  Membership(const IggySourceOptions& options, const Topics& topics, Logger log);

  /// Joins where that is needed, makes the group where there is none, and says which partitions are ours.
  [[nodiscard]] Result<Ours> ask(iggy::Client& client);
  /// Tells the server, in a group, how far messages were handed on that are not durable yet: it then leaves us the time
  /// to make them so before it gives the partition to another member. Best effort.
  void hold(iggy::Client& client, Partition partition, std::uint64_t last_delivered);
  /// Of every group; what follows is read by others.
  void leave(iggy::Client& client);

 private:
  [[nodiscard]] bool grouped() const noexcept { return !options_->consumer_group.empty(); }
  [[nodiscard]] iggy::Identifier group() const { return iggy::Identifier::name(options_->consumer_group); }
  [[nodiscard]] Error not_kept() const;
  [[nodiscard]] Result<void> join(iggy::Client& client, std::uint32_t topic);
  [[nodiscard]] Result<std::vector<std::uint32_t>> synced(iggy::Client& client, std::uint32_t topic);
  [[nodiscard]] Result<std::vector<std::uint32_t>> probed(iggy::Client& client, std::uint32_t topic);
  [[nodiscard]] Result<std::optional<bool>> is_ours(iggy::Client& client, Partition partition);

  const IggySourceOptions* const options_;
  const Topics* const topics_;
  const Logger log_;
  bool joined_ = false;  ///< since the latest answer
};

}  // namespace millrace::iggy_source
