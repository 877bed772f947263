// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/outgoing.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "connectors/iggy/sink_options.h"
#include "millrace/decode/json_checker.h"
#include "millrace/iggy_client/user_headers.h"

namespace millrace::iggy_sink {
namespace {

using Kind = IggyPartitioning::Kind;

// A request of the newer framing says the times of its messages as 32 bits behind the earliest, in microseconds.
constexpr std::uint64_t kLongestSpan = std::numeric_limits<std::uint32_t>::max();
// More than the kinds and lengths of a header take.
constexpr std::size_t kAroundHeader = 16;

iggy::HeaderKind kind_of(std::string_view bytes) {
  return is_utf8_text(bytes) ? iggy::HeaderKind::string : iggy::HeaderKind::raw;
}

}  // namespace

std::uint32_t partition_of_key(std::string_view key, std::uint32_t partitions) noexcept {
  return XXH32(key.data(), key.size(), 0) % std::max(partitions, 1U);
}

Outgoing::Outgoing(const IggySinkOptions& options, MessageIds ids) : options_(&options), ids_(std::move(ids)) {}

std::uint32_t Outgoing::group_of(const encode::FramedRecord& record, std::uint32_t partitions) const noexcept {
  if (options_->partitioning.kind != Kind::key) return 0;
  return record.has_key ? partition_of_key(record.key, partitions) : partitions;
}

// Where each group begins, and room for what all messages need.
void Outgoing::sort(std::string_view body, std::uint32_t partitions, const std::vector<bool>& done) {
  groups_ = options_->partitioning.kind == Kind::key ? partitions + 1 : 1;
  group_.assign(done.size(), 0);
  ends_.assign(groups_, 0);
  std::size_t headers = 0;
  std::size_t index = 0;
  encode::FramedReader reader(body);
  for (encode::FramedRecord record; index < done.size() && reader.next(record); ++index) {
    if (done[index]) continue;
    group_[index] = group_of(record, partitions);
    ++ends_[group_[index]];
    headers += record.headers.size();
    if (record.has_key && !options_->key_header.empty()) {
      headers += kAroundHeader + options_->key_header.size() + record.key.size();
    }
  }
  // Beginnings, which become ends while messages are put behind them.
  std::size_t all = 0;
  for (std::size_t& end : ends_) all += std::exchange(end, all);
  messages_.resize(all);
  records_.resize(all);
  headers_.clear();
  headers_.reserve(headers);
}

Result<void> Outgoing::take(const EncodedChunk& chunk, std::string_view body, std::uint32_t partitions,
                            const std::vector<bool>& done) {
  sort(body, partitions, done);
  at_ = 0;
  in_group_ = 0;
  left_out_ = 0;
  ids_.begin(chunk.partition, chunk.origin.get());
  std::uint32_t index = 0;
  encode::FramedReader reader(body);
  for (encode::FramedRecord record; index < done.size() && reader.next(record); ++index) {
    const iggy::MessageId id = ids_.next(record.offset, record.value);
    if (done[index]) continue;
    const std::size_t place = ends_[group_[index]]++;
    records_[place] = index;
    iggy::OutgoingMessage& message = messages_[place];
    message.payload = record.value;
    Result<std::string_view> headers = headers_of(record);
    if (!headers) {
      messages_.clear();
      return fail(std::move(headers)
                      .error()
                      .prefixed(fmt::format("the record of offset {} has no place in a message; with `on_unfit_header: "
                                            "leave_out` it goes without the header: ",
                                            record.offset.value()))
                      .as(ErrorClass::fatal));
    }
    message.user_headers = *headers;
    message.id = id;
    // A record that has no time is given the one at which it came.
    const UnixMicros time = record.timestamp != kNoTimestamp ? record.timestamp : chunk.opened_unix;
    message.origin_timestamp = static_cast<std::uint64_t>(std::max<UnixMicros>(time, 0));
  }
  return {};
}

Result<std::string_view> Outgoing::headers_of(const encode::FramedRecord& record) {
  block_.clear();
  encode::FramedHeaders reader(record);
  for (Header header; reader.next(header);) MILLRACE_TRY(add_header(header.name, header.value));
  if (record.has_key && !options_->key_header.empty()) MILLRACE_TRY(add_header(options_->key_header, record.key));
  const std::size_t from = headers_.size();
  headers_.append(block_.view());
  return headers_.view().substr(from);
}

Result<void> Outgoing::add_header(std::string_view name, std::string_view value) {
  Result<void> added = iggy::encode_user_header({kind_of(name), name, kind_of(value), value}, block_);
  if (added || options_->on_unfit_header == IggyUnfitHeader::fail) return added;
  ++left_out_;
  return {};
}

std::optional<Outgoing::Part> Outgoing::next() {
  if (at_ == messages_.size()) return std::nullopt;
  while (at_ == ends_[in_group_]) ++in_group_;
  const std::size_t from = at_;
  std::uint64_t first = messages_[from].origin_timestamp;
  std::uint64_t last = first;
  std::uint64_t size = 0;
  Part part;
  for (; at_ < ends_[in_group_] && at_ - from < options_->batch_records; ++at_) {
    const iggy::OutgoingMessage& message = messages_[at_];
    const std::uint64_t bytes = message.payload.size() + message.user_headers.size();
    first = std::min(first, message.origin_timestamp);
    last = std::max(last, message.origin_timestamp);
    const bool fits = size + bytes + kAroundMessage <= options_->batch_bytes.bytes && last - first <= kLongestSpan;
    if (!fits && at_ != from) break;
    size += bytes + kAroundMessage;
    part.bytes += bytes;
  }
  part.messages = std::span(messages_).subspan(from, at_ - from);
  part.records = std::span(records_).subspan(from, at_ - from);
  if (options_->partitioning.kind == Kind::partition) {
    part.to = iggy::Partitioning::to(options_->partitioning.partition);
  } else if (options_->partitioning.kind == Kind::key && in_group_ + 1 < groups_) {
    part.to = iggy::Partitioning::to(in_group_);
  }
  return part;
}

}  // namespace millrace::iggy_sink
