// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

// A member that was just joined is one; who is thrown out again at once has company that does not want him.
constexpr int kMostJoins = 3;
constexpr std::uint64_t kBeyondAnyEnd = std::uint64_t{1} << 62U;

}  // namespace

Membership::Membership(const IggySourceOptions& options, const Topics& topics, Logger log)
    : options_(&options), topics_(&topics), log_(std::move(log)) {}

Result<Ours> Membership::ask(iggy::Client& client) {
  Ours ours;
  if (!grouped()) {
    MILLRACE_ASSIGN(ours.partitions, topics_->listed());
    return ours;
  }
  for (std::uint32_t topic = 0; topic < topics_->count(); ++topic) {
    if (!topics_->is_there(topic)) continue;
    MILLRACE_ASSIGN(std::vector<std::uint32_t> numbers,
                    client.framing() == iggy::Framing::vsr ? synced(client, topic) : probed(client, topic));
    std::ranges::sort(numbers);
    for (const std::uint32_t number : numbers) ours.partitions.push_back({topic, number});
  }
  ours.joined = std::exchange(joined_, false);
  return ours;
}

Error Membership::not_kept() const {
  return Error::retryable(ErrorCode::fenced,
                          fmt::format("the server does not keep this member of group '{}'", options_->consumer_group));
}

Result<void> Membership::join(iggy::Client& client, std::uint32_t topic) {
  joined_ = true;
  MILLRACE_ASSIGN(const iggy::JoinOutcome first, client.join(topic_name(*options_, topic), group()));
  if (first == iggy::JoinOutcome::joined) return {};
  MILLRACE_TRY(client.create_group(topic_name(*options_, topic), options_->consumer_group));
  log_.info("the consumer group was made", {{"group", options_->consumer_group}, {"topic", options_->topics[topic]}});
  MILLRACE_ASSIGN(const iggy::JoinOutcome second, client.join(topic_name(*options_, topic), group()));
  if (second == iggy::JoinOutcome::joined) return {};
  return fail(
      Error::retryable(ErrorCode::not_found, fmt::format("the group '{}' that was made for topic '{}' is gone again",
                                                         iggy::to_string(group()), options_->topics[topic])));
}

Result<std::vector<std::uint32_t>> Membership::synced(iggy::Client& client, std::uint32_t topic) {
  for (int tries = 0; tries < kMostJoins; ++tries) {
    MILLRACE_ASSIGN(auto assignment, client.sync(topic_name(*options_, topic), group()));
    if (assignment) return std::move(assignment->partitions);
    MILLRACE_TRY(join(client, topic));
  }
  return fail(not_kept());
}

// The classic framing cannot be asked; what a member may not read looks empty to it.
Result<std::vector<std::uint32_t>> Membership::probed(iggy::Client& client, std::uint32_t topic) {
  std::vector<std::uint32_t> ours;
  for (std::uint32_t number = 0; number < topics_->partitions(topic); ++number) {
    MILLRACE_ASSIGN(std::optional<bool> is, is_ours(client, {topic, number}));
    for (int tries = 0; !is && tries < kMostJoins; ++tries) {
      MILLRACE_TRY(join(client, topic));
      MILLRACE_ASSIGN(is, is_ours(client, {topic, number}));
    }
    if (!is) return fail(not_kept());
    if (*is) ours.push_back(number);
  }
  return ours;
}

// Nothing: not a member.
Result<std::optional<bool>> Membership::is_ours(iggy::Client& client, Partition partition) {
  iggy::PolledMessages polled;
  const iggy::Consumer consumer = iggy::Consumer::group(group());
  const iggy::TopicName topic = topic_name(*options_, partition.topic);
  const auto done = client.poll({consumer, topic, partition.number, iggy::PollFrom::first(), 1}, polled);
  if (!done) {
    // There is no group yet, or no topic any more: joining tells.
    if (done.error().code() == ErrorCode::not_found) return std::nullopt;
    return fail(done.error());
  }
  if (polled.not_a_member()) return std::nullopt;
  if (polled.not_ours()) return false;
  if (!polled.messages().empty() || polled.said_offset() != 0) return true;
  if (partition.number != 0) return polled.partition() == partition.number;
  // Of partition 0 it says the same while that is ours and empty, and when it is not ours. An offset that no partition
  // reaches is never stored, and refused for one reason or the other.
  MILLRACE_ASSIGN(const iggy::StoreOutcome outcome,
                  client.store_offset(consumer, topic, partition.number, kBeyondAnyEnd));
  return outcome != iggy::StoreOutcome::not_ours;
}

void Membership::hold(iggy::Client& client, Partition partition, std::uint64_t last_delivered) {
  if (!grouped() || client.framing() != iggy::Framing::vsr) return;
  iggy::PolledMessages polled;
  const auto done = client.poll({iggy::Consumer::group(group()), topic_name(*options_, partition.topic),
                                 partition.number, iggy::PollFrom::offset(last_delivered), 1},
                                polled);
  if (!done) log_.debug("the server was not told what is under way", {{"why", done.error().message()}});
}

void Membership::leave(iggy::Client& client) {
  if (!grouped()) return;
  for (std::uint32_t topic = 0; topic < topics_->count() && client.connected(); ++topic) {
    if (auto done = client.leave(topic_name(*options_, topic), group()); !done) {
      log_.warn("the consumer group was not left; the server finds out by itself", {{"why", done.error().message()}});
      return;
    }
  }
}

}  // namespace millrace::iggy_source
