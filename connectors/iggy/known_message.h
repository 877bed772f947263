// SPDX-License-Identifier: Apache-2.0
// KnownMessage: a message that was read, by what tells it from another one that a server gives the same offset later.
// KnownMessages: those of a lane whose records are not durable yet. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy_source {

struct KnownMessage {
  std::uint64_t offset = 0;
  iggy::MessageId id;
  std::uint64_t timestamp = 0;
  friend bool operator==(const KnownMessage&, const KnownMessage&) = default;
};
[[nodiscard]] inline KnownMessage known(const iggy::Message& message) {
  return {message.offset, message.id, message.timestamp};
}

/// One of each batch, the newest always among them. Bounded: when there are kMost, every second one is let go.
class KnownMessages {
 public:
  static constexpr std::size_t kMost = 128;
  KnownMessages() { pending_.reserve(kMost); }

  /// Of rising offsets.
  void add(KnownMessage message);
  /// While this one is where it was read, so is all before `watermark`: the first known one at or behind the last
  /// message before it, otherwise the last known one of all. None: nothing was added.
  [[nodiscard]] std::optional<KnownMessage> settle(Watermark watermark);

 private:
  std::vector<KnownMessage> pending_;
  std::optional<KnownMessage> settled_;
};

}  // namespace millrace::iggy_source
