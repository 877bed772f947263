// SPDX-License-Identifier: Apache-2.0
// Topics: what the server says of the source's topics: that they are there, their partitions, and where a lane of each
// begins and ends. Asks over a client that is lent for the call; belongs to the thread that has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy/held.h"
#include "connectors/iggy/options.h"
#include "connectors/iggy/partition.h"
#include "connectors/iggy/positions.h"
#include "millrace/base/log.h"
#include "millrace/connectors/stream.h"

namespace millrace::iggy_source {

/// Where the lane of a partition begins and ends.
struct Beginning {
  Partition partition;
  Watermark from;
  std::optional<Watermark> stored;    ///< as the server has it
  std::optional<Watermark> end;       ///< of a bounded source
  std::optional<KnownMessage> known;  ///< a message before `from`
  Watermark server_end;               ///< one past the server's last message
  std::uint64_t yields = 0;           ///< of the Kept that it was decided by
};

/// Why the messages before a partition's position are not those that were read.
struct Loss {
  std::string what;
  bool unless_stored = false;  ///< an offset that is stored is of the messages that there are now
};

class Topics {
 public:
  Topics(const IggySourceOptions& options, Logger log);

  struct Look {
    std::vector<std::uint32_t> anew;  ///< topics that were made anew since the last look
    std::vector<std::uint32_t> gone;  ///< that are not there (any more)
  };
  /// Looks at all of them. Fails (retryable, not_found) when the stream is not there or, the first time, a topic.
  [[nodiscard]] Result<Look> look(iggy::Client& client);
  /// As of the latest look.
  [[nodiscard]] bool is_there(std::uint32_t topic) const { return seen_[topic].there; }
  /// Of each topic that is there the partitions that are listed, or all of them, as of the latest look. Fails
  /// (retryable) when a listed one is not there.
  [[nodiscard]] Result<std::vector<Partition>> listed() const;
  /// As of the latest look; null: it was not there.
  [[nodiscard]] const iggy::PartitionInfo* info(Partition partition) const;
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(options_->topics.size()); }
  [[nodiscard]] std::uint32_t partitions(std::uint32_t topic) const;
  /// Names what the offsets of a topic count: another one once it was made anew.
  [[nodiscard]] std::string lineage(std::uint32_t topic) const;

  /// Nothing when the server has said so several times.
  [[nodiscard]] Result<std::optional<Watermark>> stored(iggy::Client& client, Partition partition) const;
  /// Leaves the server with the offset of where the partition begins, or with none where none can say it, so that a
  /// crash moves it no further; it says so where that cannot be. `kept`: what this process knows of it.
  [[nodiscard]] Result<Beginning> begin(iggy::Client& client, Partition partition, const std::optional<Kept>& kept,
                                        const std::optional<Loss>& loss);
  struct Unread {
    Partition partition;
    Watermark position;
    Watermark end;
  };
  /// Of a bounded source: the first partition of others that was not read to the end that there was at the start, as of
  /// the latest look. Nothing: they all were.
  [[nodiscard]] Result<std::optional<Unread>> unread_by_others(iggy::Client& client,
                                                               const std::vector<Partition>& ours) const;

 private:
  struct Seen {
    std::string lineage;  ///< the last one
    std::vector<iggy::PartitionInfo> partitions;
    bool there = true;
  };
  [[nodiscard]] std::optional<Watermark> newest(std::optional<Watermark> stored, const std::optional<Kept>& kept,
                                                Partition partition) const;
  [[nodiscard]] Result<StreamBeginning> where(HeldRange held, std::optional<Watermark> position, Partition partition,
                                              const std::optional<std::string>& lost) const;
  [[nodiscard]] Result<void> put_right(iggy::Client& client, Beginning& beginning, HeldRange range) const;

  const IggySourceOptions* const options_;
  const iggy::Consumer consumer_;
  const std::vector<std::uint32_t> numbers_;  ///< listed; empty: all
  const Logger log_;
  std::vector<Seen> seen_;
  std::map<Partition, Watermark> ends_;  ///< of a bounded source, as of the first look
};

}  // namespace millrace::iggy_source
