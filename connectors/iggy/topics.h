// SPDX-License-Identifier: Apache-2.0
// Topics: what the server says of the source's topics: that they are there, their partitions, where each begins and
// ends, and where a lane of it begins. Asks over a client that is lent for the call; belongs to the thread that has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy/lane_feed.h"
#include "connectors/iggy/options.h"
#include "connectors/iggy/partition.h"
#include "connectors/iggy/positions.h"
#include "millrace/connectors/stream.h"

namespace millrace::iggy_source {

/// Where the lane of a partition begins and ends.
struct Beginning {
  Partition partition;
  Watermark from;
  std::optional<Watermark> stored;  ///< as the server has it
  std::optional<Watermark> end;     ///< of a bounded source
};

class Topics {
 public:
  Topics(const IggySourceOptions& options, Logger log);

  /// Looks at all of them. Fails (retryable, not_found) when one is not there. True: one was made anew since the last
  /// look.
  [[nodiscard]] Result<bool> look(iggy::Client& client);
  /// Of each topic the partitions that are listed, or all of them, as of the latest look. Fails (retryable) when a
  /// listed one is not there.
  [[nodiscard]] Result<std::vector<Partition>> listed() const;
  [[nodiscard]] iggy::TopicName name(std::uint32_t topic) const;
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(options_->topics.size()); }
  [[nodiscard]] std::uint32_t partitions(std::uint32_t topic) const;
  /// "'s/t' partition 3"
  [[nodiscard]] std::string text(Partition partition) const;
  /// Names what the offsets of a topic count: another one once it was made anew.
  [[nodiscard]] std::string lineage(std::uint32_t topic) const;

  /// Stores where a partition begins that had no position and does not begin with its first record: a crash moves it no
  /// further. `settled`: what this process knows to be durable. `lost`: the messages before it are not those that were
  /// read.
  [[nodiscard]] Result<Beginning> begin(iggy::Client& client, Partition partition, std::optional<Watermark> settled,
                                        const std::optional<std::string>& lost);

 private:
  struct Seen {
    std::string lineage;
    std::vector<iggy::PartitionInfo> partitions;
  };
  [[nodiscard]] Result<HeldRange> held(iggy::Client& client, Partition partition) const;
  [[nodiscard]] Result<StreamBeginning> where(HeldRange held, std::optional<Watermark> kept, Partition partition,
                                              const std::optional<std::string>& lost) const;
  [[nodiscard]] Result<Watermark> at_time(iggy::Client& client, Partition partition, UnixMicros at,
                                          Watermark otherwise) const;

  const IggySourceOptions* const options_;
  const iggy::Consumer consumer_;
  const std::vector<std::uint32_t> numbers_;  ///< listed; empty: all
  const Logger log_;
  std::vector<Seen> seen_;
  std::map<Partition, Watermark> ends_;  ///< of a bounded source, as of the first look
};

}  // namespace millrace::iggy_source
