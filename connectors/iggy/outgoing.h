// SPDX-License-Identifier: Apache-2.0
// Outgoing: the records of a sealed batch as the requests that carry them: kept apart by partition, in their order
// within each, cut by count, bytes and time. Borrows the batch's bytes. One writer's, on its thread; once it has seen
// batches of the usual size it allocates nothing for a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "connectors/iggy/message_ids.h"
#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/connectors/iggy.h"
#include "millrace/encode/framed.h"
#include "millrace/iggy_client/messages.h"
#include "millrace/iggy_client/protocol.h"
#include "millrace/sink/sealed_batch.h"

namespace millrace::iggy_sink {

/// Which of `partitions` Iggy's own clients send a message with this key to.
[[nodiscard]] std::uint32_t partition_of_key(std::string_view key, std::uint32_t partitions) noexcept;

class Outgoing {
 public:
  /// One request. Valid until the next take().
  struct Part {
    iggy::Partitioning to;
    std::span<const iggy::OutgoingMessage> messages;
    std::span<const std::uint32_t> records;  ///< of each message: which of the batch it is
    std::uint64_t bytes = 0;                 ///< of payloads and user headers
  };

  Outgoing(const IggySinkOptions& options, MessageIds ids);

  /// The records of `batch`, whose bytes are `body`, but those that are `done`. `partitions`: how many the topic has;
  /// used for keys alone. Fails (fatal) for a header that Iggy has no place for, unless these are left out.
  [[nodiscard]] Result<void> take(const EncodedChunk& chunk, std::string_view body, std::uint32_t partitions,
                                  const std::vector<bool>& done);
  /// Headers that the last take() left out.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  /// The next request; nothing behind the last.
  [[nodiscard]] std::optional<Part> next();

 private:
  void sort(std::string_view body, std::uint32_t partitions, const std::vector<bool>& done);
  [[nodiscard]] std::uint32_t group_of(const encode::FramedRecord& record, std::uint32_t partitions) const noexcept;
  [[nodiscard]] Result<std::string_view> headers_of(const encode::FramedRecord& record);
  [[nodiscard]] Result<void> add_header(std::string_view name, std::string_view value);

  const IggySinkOptions* options_;
  MessageIds ids_;
  std::uint32_t groups_ = 1;          ///< one for each partition, and one behind them for who has no key
  std::vector<std::uint32_t> group_;  ///< of each record
  std::vector<std::size_t> ends_;     ///< of each group, in messages_
  std::vector<iggy::OutgoingMessage> messages_;
  std::vector<std::uint32_t> records_;
  ByteBuffer headers_;  ///< of all messages; reserved whole, as they point into it
  ByteBuffer block_;    ///< the headers of one message
  std::uint64_t left_out_ = 0;
  std::size_t at_ = 0;
  std::uint32_t in_group_ = 0;
};

}  // namespace millrace::iggy_sink
