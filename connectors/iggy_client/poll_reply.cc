// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/poll_reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {
namespace {

constexpr std::uint32_t kNotOurs = 0xFFFFFFFF;

Error malformed(std::string_view what) {
  return Error::fatal(ErrorCode::bad_response,
                      fmt::format("the server's reply to a poll is not what the protocol says: {}", what));
}

Error damaged(std::string_view what, std::uint64_t offset) {
  return Error::fatal(ErrorCode::corrupt,
                      fmt::format("the checksum of the {} at offset {} does not fit its bytes; they were damaged where "
                                  "they are stored or on the way. Where this stays so they are at the server: restore "
                                  "them there, remove them, or set verify_checksums to false to take them as they are",
                                  what, offset));
}

bool all_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
}

}  // namespace

Result<void> PollReplyDecoder::decode(std::string_view body, PolledMessages& out) {
  out.messages_.clear();
  ByteReader reader(body);
  out.partition_ = reader.u32();
  out.last_offset_ = reader.u64();
  const std::uint32_t count = reader.u32();
  reader.skip(layout_->poll_context);
  if (reader.failed()) return fail(malformed(fmt::format("it ends after {} bytes, in its first fields", body.size())));
  if (count != 0 && out.last_offset_ > kMostOffset) {
    return fail(malformed(fmt::format("its last offset is {}", out.last_offset_)));
  }
  out.not_ours_ = out.partition_ == kNotOurs && count == 0;
  // A message has a header at least, so a count beyond that is a lie, which shall not cost memory.
  const std::size_t smallest = layout_->single_messages ? kSingleHeader : kMessageFrame;
  if (count > reader.left() / smallest) {
    return fail(malformed(fmt::format("it speaks of {} messages in {} bytes", count, reader.left())));
  }
  out.messages_.reserve(count);
  MILLRACE_TRY(layout_->single_messages ? single_messages(reader, count, out) : batches(reader, count, out));
  if (!reader.ended()) return fail(malformed(fmt::format("{} bytes stand behind the last message", reader.left())));
  return {};
}

Result<void> PollReplyDecoder::add(const Message& message, PolledMessages& out) const {
  if (!out.messages_.empty() && message.offset <= out.messages_.back().offset) {
    return fail(malformed(fmt::format("offset {} follows offset {}", message.offset, out.messages_.back().offset)));
  }
  if (message.offset > kMostOffset) return fail(malformed(fmt::format("a message has offset {}", message.offset)));
  out.messages_.push_back(message);
  return {};
}

Result<void> PollReplyDecoder::single_messages(ByteReader& reader, std::uint32_t count, PolledMessages& out) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t begin = reader.at();
    const std::uint64_t checksum = reader.u64();
    Message message;
    message.id.low = reader.u64();
    message.id.high = reader.u64();
    message.offset = reader.u64();
    message.timestamp = reader.u64();
    message.origin_timestamp = reader.u64();
    const std::uint32_t headers = reader.u32();
    const std::uint32_t payload = reader.u32();
    const std::uint64_t reserved = reader.u64();
    message.payload = reader.take(payload);
    message.user_headers = reader.take(headers);
    if (reader.failed() || reserved != 0) {
      return fail(malformed(fmt::format("message {} of {} is cut off, or none", i + 1, count)));
    }
    if (verify_ && checksum_of(reader.between(begin + sizeof checksum, reader.at())) != checksum) {
      return fail(damaged("message", message.offset));
    }
    MILLRACE_TRY(add(message, out));
  }
  return {};
}

Result<void> PollReplyDecoder::batches(ByteReader& reader, std::uint32_t count, PolledMessages& out) {
  while (!reader.ended()) {
    MILLRACE_TRY(one_batch(reader, out));
    if (out.messages_.size() > count) break;
  }
  if (out.messages_.size() != count) {
    return fail(malformed(fmt::format("it speaks of {} messages and holds {}{}", count,
                                      out.messages_.size() > count ? "at least " : "", out.messages_.size())));
  }
  return {};
}

Result<void> PollReplyDecoder::one_batch(ByteReader& reader, PolledMessages& out) {
  const std::size_t begin = reader.at();
  const std::uint64_t partition = reader.u64();
  const std::uint64_t base_offset = reader.offset();
  const std::uint64_t timestamp = reader.u64();
  const std::uint64_t origin = reader.u64();
  const std::uint64_t length = reader.u64();
  const std::uint64_t checksum = reader.u64();
  const std::uint32_t count = reader.u32();
  const std::string_view rest = reader.take(kBatchHeader - kBatchFields);
  if (reader.failed() || partition != out.partition_ || !all_zero(rest)) {
    return fail(malformed(fmt::format("the batch with base offset {} has no sound header", base_offset)));
  }
  if (count == 0 || length < kBatchHeader || length - kBatchHeader > reader.left()) {
    return fail(
        malformed(fmt::format("the batch with base offset {} has {} messages in {} bytes, of which {} are there",
                              base_offset, count, length, reader.left() + kBatchHeader)));
  }
  batch_checksum_.begin();
  batch_checksum_.add(reader.between(begin, begin + 40));
  batch_checksum_.add(reader.between(begin + 48, begin + kBatchFields));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t frame = reader.at();
    const std::uint64_t frame_checksum = reader.u64();
    Message message;
    message.id.low = reader.u64();
    message.id.high = reader.u64();
    message.offset = base_offset + reader.u32();
    message.timestamp = timestamp;
    message.origin_timestamp = origin + reader.u32();
    const std::uint32_t headers = reader.u32();
    const std::uint32_t payload = reader.u32();
    const std::uint64_t reserved = reader.u64();
    message.payload = reader.take(payload);
    message.user_headers = reader.take(headers);
    if (reader.failed() || reserved != 0 || reader.at() - begin > length) {
      return fail(malformed(fmt::format("message {} of {} in the batch with base offset {} is cut off, or none", i + 1,
                                        count, base_offset)));
    }
    if (verify_) {
      if (checksum_of(reader.between(frame + sizeof frame_checksum, reader.at())) != frame_checksum) {
        return fail(damaged("message", message.offset));
      }
      batch_checksum_.add(frame_checksum);
    }
    MILLRACE_TRY(add(message, out));
  }
  if (reader.at() - begin != length) {
    return fail(malformed(fmt::format("the batch with base offset {} has {} bytes, not the {} it speaks of",
                                      base_offset, reader.at() - begin, length)));
  }
  if (verify_ && batch_checksum_.value() != checksum) return fail(damaged("batch", base_offset));
  return {};
}

}  // namespace millrace::iggy
