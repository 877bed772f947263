// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/poll_limits.h"

#include <algorithm>

namespace millrace::iggy {
namespace {

// How much fewer messages are asked for after a reply that was too large.
constexpr std::uint32_t kFewer = 4;
// Replies that fit before more is asked for again: at first, and at most. Each failure doubles it.
constexpr std::uint32_t kPatience = 64;
constexpr std::uint32_t kMostPatience = 4096;

}  // namespace

// Behind the last: there is none.
std::size_t PollLimits::find(const TopicName& topic, std::uint32_t partition) const {
  const auto found =
      std::ranges::find_if(limits_, [&](const Limit& one) { return one.partition == partition && one.topic == topic; });
  return static_cast<std::size_t>(found - limits_.begin());
}

std::uint32_t PollLimits::count(const TopicName& topic, std::uint32_t partition, std::uint32_t wanted) const {
  const std::size_t at = find(topic, partition);
  return std::max(1U, at == limits_.size() ? wanted : std::min(wanted, limits_[at].allowed));
}

void PollLimits::failed(const TopicName& topic, std::uint32_t partition, std::uint32_t count) {
  const std::size_t at = find(topic, partition);
  if (at == limits_.size()) limits_.push_back({topic, partition, 1, 0, kPatience / 2});
  Limit& limit = limits_[at];
  limit.allowed = std::max(1U, count / kFewer);
  limit.fitted = 0;
  limit.patience = std::min(limit.patience * 2, kMostPatience);
}

void PollLimits::fitted(const TopicName& topic, std::uint32_t partition, std::size_t messages, std::size_t bytes) {
  const std::size_t at = find(topic, partition);
  if (at == limits_.size() || messages == 0) return;
  Limit& limit = limits_[at];
  if (++limit.fitted < limit.patience) return;
  // Messages of about this size fill half of what a reply may have.
  const std::uint64_t room = max_reply_bytes_ / 2 / std::max<std::size_t>(bytes / messages, 1);
  const std::uint64_t grown = std::min({std::uint64_t{limit.allowed} * 2, room, std::uint64_t{UINT32_MAX}});
  limit.allowed = static_cast<std::uint32_t>(std::max<std::uint64_t>(limit.allowed, grown));
}

}  // namespace millrace::iggy
