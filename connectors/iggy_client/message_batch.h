// SPDX-License-Identifier: Apache-2.0
// Messages as they travel: alone (classic framing) or in batches (vsr framing), towards the server. Pure.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "connectors/iggy_client/byte_reader.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy {

inline constexpr std::size_t kSingleHeader = 64;
inline constexpr std::size_t kIndexEntry = 16;
inline constexpr std::size_t kBatchHeader = 256;
inline constexpr std::size_t kBatchFields = 52;  ///< of the header; the rest is zero
inline constexpr std::size_t kMessageFrame = 48;

/// Requires messages. How many of them, from the first, one batch can hold: their own times are close enough together.
[[nodiscard]] std::size_t batch_length(std::span<const OutgoingMessage> messages) noexcept;
/// Fails for a message beyond what a server takes (record-level, too_large, with its index), and for more bytes than
/// one request can count (fatal).
[[nodiscard]] Result<void> check_messages(std::span<const OutgoingMessage> messages);

/// Between the earliest and the latest of the messages' own times; 0 for none.
[[nodiscard]] std::uint64_t time_span(std::span<const OutgoingMessage> messages) noexcept;
/// One index entry for each, then the messages.
void append_single_messages(std::span<const OutgoingMessage> messages, ByteWriter& to);
/// One batch with its checksums. Requires a time_span of at most 32 bits.
void append_batch(std::span<const OutgoingMessage> messages, Random& random, ByteWriter& to);

/// Over a batch's header fields and the checksums of its frames, in order.
class BatchChecksum {
 public:
  BatchChecksum() : state_(XXH3_createState(), XXH3_freeState) { begin(); }
  void begin() { XXH3_64bits_reset(state_.get()); }
  void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  void add(std::uint64_t checksum) { XXH3_64bits_update(state_.get(), &checksum, sizeof checksum); }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes) noexcept;

}  // namespace millrace::iggy
