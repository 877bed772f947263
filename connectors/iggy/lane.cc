// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/lane.h"

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

// Under this name stand user headers that are none: any producer may write any bytes there, and none is lost.
constexpr std::string_view kUndecodable = "iggy-undecodable-headers";

}  // namespace

bool IggyLane::set_waker(Waker waker) {
  setup_.feed->set_waker(std::move(waker));
  return true;
}

Result<PollResult> IggyLane::poll(std::size_t max_records, Duration timeout) {
  clear();
  if (reply_ && at_ == within_end(reply_->messages())) {
    setup_.feed->give_back(*std::exchange(reply_, std::nullopt));
  }
  if (!reply_) {
    const SteadyTime deadline = timeout > Duration::zero() ? setup_.clock->now() + timeout : SteadyTime::min();
    MILLRACE_ASSIGN(LaneFeed::Got got, setup_.feed->get(*setup_.clock, deadline));
    if (got.ended) {
      setup_.feed->exhaust();
      setup_.control.wake();
      return Exhausted{};
    }
    if (!got.messages) return Idle{};
    reply_ = std::move(got.messages);
    at_ = 0;
    // All of it may lie behind the end.
    if (within_end(reply_->messages()) == 0) return poll(max_records, timeout);
  }
  const std::span<const iggy::Message> all = reply_->messages();
  const std::size_t until = std::min(within_end(all), at_ + std::max<std::size_t>(max_records, 1));
  for (; at_ < until; ++at_) append(all[at_]);
  return batch();
}

std::size_t IggyLane::within_end(std::span<const iggy::Message> messages) const {
  const auto& end = setup_.feed->end();
  if (!end) return messages.size();
  const auto behind =
      std::ranges::lower_bound(messages, static_cast<std::uint64_t>(end->value()), {}, &iggy::Message::offset);
  return static_cast<std::size_t>(behind - messages.begin());
}

void IggyLane::clear() {
  payloads_.clear();
  offsets_.clear();
  timestamps_.clear();
  headers_.clear();
  header_ends_.clear();
  header_spans_.clear();
  text_.clear();
  texts_.clear();
}

void IggyLane::append(const iggy::Message& message) {
  payloads_.push_back(message.payload);
  offsets_.emplace_back(static_cast<std::int64_t>(message.offset));
  timestamps_.push_back(static_cast<UnixMicros>(message.timestamp));
  if (!message.user_headers.empty()) append_headers(message.user_headers);
  header_ends_.push_back(headers_.size());
}

void IggyLane::append_headers(std::string_view block) {
  const auto text = [this](iggy::HeaderKind kind, std::string_view bytes, bool name) {
    if (iggy::is_text(kind)) return bytes;
    texts_.push_back({headers_.size(), name, text_.size(), 0});
    iggy::append_text(kind, bytes, text_);
    texts_.back().size = text_.size() - texts_.back().from;
    return std::string_view();
  };
  const bool sound = iggy::decode_user_headers(block, decoded_).has_value();
  if (!sound) {
    setup_.metrics.undecodable_headers.add();
    headers_.push_back({kUndecodable, block});
    return;
  }
  for (const iggy::UserHeader& header : decoded_) {
    const std::string_view name = text(header.key_kind, header.key, true);
    const std::string_view value = text(header.value_kind, header.value, false);
    headers_.push_back({name, value});
  }
}

PollResult IggyLane::batch() {
  for (const Text& text : texts_) {
    Header& header = headers_[text.header];
    (text.name ? header.name : header.value) = std::string_view(text_).substr(text.from, text.size);
  }
  PayloadBatch batch;
  batch.payloads = payloads_;
  batch.partition = partition();
  batch.offsets = offsets_;
  batch.timestamps = timestamps_;
  if (!headers_.empty()) {
    std::size_t from = 0;
    for (const std::size_t end : header_ends_) {
      header_spans_.push_back(std::span<const Header>(headers_).subspan(from, end - from));
      from = end;
    }
    batch.headers = header_spans_;
  }
  batch.origin = setup_.origin;
  batch.readable_padding = kBytePadding;
  batch.ack = setup_.acks.issue(partition(), offsets_.back());
  setup_.feed->delivered(known(reply_->messages()[at_ - 1]));
  setup_.metrics.messages.add(offsets_.size());
  return batch;
}

}  // namespace millrace::iggy_source
