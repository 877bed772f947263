// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/message_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace millrace::iggy {
namespace {

void write_id(MessageId id, ByteWriter& to) {
  to.u64(id.low);
  to.u64(id.high);
}

MessageId id_for(const OutgoingMessage& message, Random& random) {
  if (message.id != MessageId()) return message.id;
  return {random.next() | 1U, random.next()};
}

// The least of the messages' own times; a batch says the others as what they are later.
std::uint64_t earliest(std::span<const OutgoingMessage> messages) {
  return messages.empty() ? 0 : std::ranges::min(messages, {}, &OutgoingMessage::origin_timestamp).origin_timestamp;
}

// Lengths of requests have 32 bits. What stands before the messages is far below this.
constexpr std::size_t kRequestPrefix = 4096;
constexpr std::size_t kMaxMessages = std::numeric_limits<std::uint32_t>::max() - kRequestPrefix;

}  // namespace

Result<void> check_messages(std::span<const OutgoingMessage> messages) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const OutgoingMessage& message = messages[i];
    const bool long_payload = message.payload.size() > kMaxPayload;
    if (long_payload || message.user_headers.size() > kMaxUserHeaders) {
      const std::size_t size = long_payload ? message.payload.size() : message.user_headers.size();
      return fail(Error::record(ErrorCode::too_large,
                                fmt::format("message {} of the {} has {} bytes of {}, and Iggy takes {}", i,
                                            messages.size(), size, long_payload ? "payload" : "user headers",
                                            long_payload ? kMaxPayload : kMaxUserHeaders))
                      .with("message", std::to_string(i)));
    }
    total += kIndexEntry + kSingleHeader + message.payload.size() + message.user_headers.size();
  }
  if (total > kMaxMessages) {
    return fail(Error::fatal(ErrorCode::too_large,
                             fmt::format("{} messages have {} bytes, and one request has {}; send fewer at a time",
                                         messages.size(), total, kMaxMessages)));
  }
  return {};
}

std::size_t batch_length(std::span<const OutgoingMessage> messages) noexcept {
  std::uint64_t first = messages.front().origin_timestamp;
  std::uint64_t last = first;
  std::size_t length = 1;
  for (; length < messages.size(); ++length) {
    first = std::min(first, messages[length].origin_timestamp);
    last = std::max(last, messages[length].origin_timestamp);
    if (last - first > std::numeric_limits<std::uint32_t>::max()) break;
  }
  return length;
}

std::uint64_t time_span(std::span<const OutgoingMessage> messages) noexcept {
  if (messages.empty()) return 0;
  return std::ranges::max(messages, {}, &OutgoingMessage::origin_timestamp).origin_timestamp - earliest(messages);
}

void append_single_messages(std::span<const OutgoingMessage> messages, ByteWriter& to) {
  std::size_t end = 0;
  for (const OutgoingMessage& message : messages) {
    end += kSingleHeader + message.payload.size() + message.user_headers.size();
    to.u32(0);
    to.u32(static_cast<std::uint32_t>(end));
    to.u64(0);
  }
  for (const OutgoingMessage& message : messages) {
    to.u64(0);  // checksum, offset and time are the server's to fill in
    write_id(message.id, to);
    to.u64(0);
    to.u64(0);
    to.u64(message.origin_timestamp);
    to.u32(static_cast<std::uint32_t>(message.user_headers.size()));
    to.u32(static_cast<std::uint32_t>(message.payload.size()));
    to.u64(0);
    to.bytes(message.payload);
    to.bytes(message.user_headers);
  }
}

void append_batch(std::span<const OutgoingMessage> messages, Random& random, ByteWriter& to) {
  const std::size_t begin = to.at();
  const std::uint64_t origin = earliest(messages);
  to.zeros(kBatchHeader);
  to.put(begin + 24, origin);
  BatchChecksum batch;
  std::vector<std::uint64_t> checksums;
  checksums.reserve(messages.size());
  std::uint32_t index = 0;
  for (const OutgoingMessage& message : messages) {
    const std::size_t frame = to.at();
    to.u64(0);
    write_id(id_for(message, random), to);
    to.u32(index++);
    to.u32(static_cast<std::uint32_t>(message.origin_timestamp - origin));
    to.u32(static_cast<std::uint32_t>(message.user_headers.size()));
    to.u32(static_cast<std::uint32_t>(message.payload.size()));
    to.u64(0);
    to.bytes(message.payload);
    to.bytes(message.user_headers);
    checksums.push_back(checksum_of(to.written(frame + sizeof(std::uint64_t))));
    to.put(frame, checksums.back());
  }
  to.put(begin + 32, static_cast<std::uint64_t>(to.at() - begin));
  to.put(begin + 48, index);
  batch.add(to.written(begin).substr(0, 40));
  batch.add(to.written(begin).substr(48, sizeof index));
  for (const std::uint64_t checksum : checksums) batch.add(checksum);
  to.put(begin + 40, batch.value());
}

std::uint64_t checksum_of(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace millrace::iggy
