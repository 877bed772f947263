// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/held.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

Result<void> poll_one(iggy::Client& client, const IggySourceOptions& options, Partition partition, iggy::PollFrom from,
                      iggy::PolledMessages& out) {
  return client.poll({reader(), topic_name(options, partition.topic), partition.number, from, 1}, out);
}

Error contradiction(const IggySourceOptions& options, Partition partition, const iggy::PartitionInfo& info) {
  return Error::retryable(
      ErrorCode::bad_response,
      fmt::format("{}: the server gives no message, though it says that it holds {} up to offset {}",
                  text(options, partition), info.messages, info.last_offset));
}

// The end of a partition of which a poll from `offset` gave nothing.
Result<Watermark> end_without(iggy::Client& client, const IggySourceOptions& options, Partition partition,
                              std::uint64_t offset) {
  MILLRACE_ASSIGN(const iggy::PartitionInfo info, figures(client, options, partition));
  const Watermark end = end_of(info);
  if (end >= watermark_behind(offset) && info.messages != 0) return fail(contradiction(options, partition, info));
  return end;
}

std::string described(const KnownMessage& message) {
  return fmt::format("id {}, taken {}", iggy::to_string(message.id),
                     to_rfc3339(static_cast<UnixMicros>(message.timestamp), 6));
}

}  // namespace

// A record of a partition that was never written to says 0 for the last offset, as one with one message does.
Watermark end_of(const iggy::PartitionInfo& partition) noexcept {
  if (partition.messages == 0 && partition.last_offset == 0) return Watermark(0);
  return watermark_behind(partition.last_offset);
}

Result<iggy::PartitionInfo> figures(iggy::Client& client, const IggySourceOptions& options, Partition partition) {
  MILLRACE_ASSIGN(const auto topic, client.get_topic(topic_name(options, partition.topic)));
  if (topic) {
    const auto info = std::ranges::find(topic->partitions, partition.number, &iggy::PartitionInfo::id);
    if (info != topic->partitions.end()) return *info;
  }
  return fail(missing(text(options, partition)));
}

// The figures have the last offset only; the first is that of the first message.
Result<HeldRange> held(iggy::Client& client, const IggySourceOptions& options, Partition partition) {
  iggy::PolledMessages first;
  MILLRACE_TRY(poll_one(client, options, partition, iggy::PollFrom::first(), first));
  MILLRACE_ASSIGN(const iggy::PartitionInfo info, figures(client, options, partition));
  const Watermark end = end_of(info);
  if (first.messages().empty()) {
    if (info.messages != 0) return fail(contradiction(options, partition, info));
    return HeldRange{Offset(end.value()), end};
  }
  return HeldRange{Offset(static_cast<std::int64_t>(first.messages().front().offset)),
                   std::max({end, watermark_behind(first.messages().front().offset),
                             watermark_behind(first.last_offset().value_or(0))})};
}

Result<std::optional<KnownMessage>> message_at(iggy::Client& client, const IggySourceOptions& options,
                                               Partition partition, std::uint64_t offset) {
  iggy::PolledMessages polled;
  MILLRACE_TRY(poll_one(client, options, partition, iggy::PollFrom::offset(offset), polled));
  if (polled.messages().empty()) {
    MILLRACE_TRY(end_without(client, options, partition, offset));
    return std::nullopt;
  }
  if (polled.messages().front().offset != offset) return std::nullopt;
  return known(polled.messages().front());
}

Result<Watermark> offset_at(iggy::Client& client, const IggySourceOptions& options, Partition partition, UnixMicros at,
                            HeldRange range) {
  const auto micros = static_cast<std::uint64_t>(std::max<UnixMicros>(at, 0));
  iggy::PolledMessages polled;
  MILLRACE_TRY(poll_one(client, options, partition, iggy::PollFrom::timestamp(micros), polled));
  if (!polled.messages().empty()) return Watermark(static_cast<std::int64_t>(polled.messages().front().offset));
  if (range.first.value() == range.end.value()) return range.end;
  // The last message tells whether there is one as late as that.
  MILLRACE_ASSIGN(const auto last,
                  message_at(client, options, partition, static_cast<std::uint64_t>(range.end.value()) - 1));
  if (last && last->timestamp < micros) return range.end;
  return fail(Error::retryable(
      ErrorCode::bad_response,
      fmt::format("{}: the server finds no message at or after {}, though its last one, at offset {}, is not earlier",
                  text(options, partition), to_rfc3339(at, 0), range.end.value() - 1)));
}

Result<std::optional<std::string>> loss_of(iggy::Client& client, const IggySourceOptions& options, Partition partition,
                                           const KnownMessage& read) {
  iggy::PolledMessages polled;
  MILLRACE_TRY(poll_one(client, options, partition, iggy::PollFrom::offset(read.offset), polled));
  if (!polled.messages().empty()) {
    const KnownMessage now = known(polled.messages().front());
    if (now.offset > read.offset || now == read) return std::nullopt;
    return fmt::format(
        "the message at offset {} ({}) was read, but another one is there now ({}): the server lost messages, or the "
        "topic was purged, and offsets were given again",
        read.offset, described(read), described(now));
  }
  MILLRACE_ASSIGN(const Watermark end, end_without(client, options, partition, read.offset));
  if (end >= watermark_behind(read.offset)) return std::nullopt;
  return fmt::format(
      "the message at offset {} ({}) was read, but the server's next offset is {} now: it lost its newest {} messages, "
      "or the topic was purged",
      read.offset, described(read), end.value(), watermark_behind(read.offset).value() - end.value());
}

}  // namespace millrace::iggy_source
