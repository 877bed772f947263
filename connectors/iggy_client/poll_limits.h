// SPDX-License-Identifier: Apache-2.0
// PollLimits: how many messages a poll may ask of a partition whose replies were too large. A reply that is too large
// costs a session, so what failed is tried again rarely. Owned by a client; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

class PollLimits {
 public:
  explicit PollLimits(std::size_t max_reply_bytes) : max_reply_bytes_(max_reply_bytes) {}

  /// At least 1 and, where `wanted` is that much, at most `wanted`.
  [[nodiscard]] std::uint32_t count(const TopicName& topic, std::uint32_t partition, std::uint32_t wanted) const;
  /// So many messages gave too large a reply.
  void failed(const TopicName& topic, std::uint32_t partition, std::uint32_t count);
  /// A reply with `messages` in `bytes`.
  void fitted(const TopicName& topic, std::uint32_t partition, std::size_t messages, std::size_t bytes);

 private:
  /// Of the few partitions that gave too much; one that never did has none.
  struct Limit {
    TopicName topic;
    std::uint32_t partition = 0;
    std::uint32_t allowed = 1;
    std::uint32_t fitted = 0;    ///< replies since the last failure
    std::uint32_t patience = 0;  ///< so many of them, and more messages are asked for
  };
  [[nodiscard]] std::size_t find(const TopicName& topic, std::uint32_t partition) const;

  const std::size_t max_reply_bytes_;
  std::vector<Limit> limits_;
};

}  // namespace millrace::iggy
