// SPDX-License-Identifier: Apache-2.0
// The part of Desk that looks at the server: what is there, what of it is ours, and what went.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/iggy/desk.h"
#include "connectors/iggy/held.h"

namespace millrace::iggy_source {

// What is there, and what of it is ours: at each heartbeat, and after each login.
Result<void> Desk::look(const Work& work) {
  // Before the figures, which are newer then.
  std::vector<Watermark> fetched;
  fetched.reserve(work.feeds.size());
  for (const auto& feed : work.feeds) fetched.push_back(feed->fetched());
  const std::uint64_t session = client_->sessions();
  MILLRACE_ASSIGN(const Topics::Look seen, topics_.look(*client_));
  gone(seen.gone);
  if (!seen.anew.empty()) MILLRACE_TRY(made_anew(seen.anew));
  // Until it is published, whatever else of this look fails.
  anew_ = anew_ || !seen.anew.empty();
  MILLRACE_ASSIGN(Ours ours, membership_.ask(*client_));
  told(ours);
  hold(work, ours);
  Result<void> checked;
  for (std::size_t i = 0; !anew_ && i < fetched.size(); ++i) {
    Result<void> one = check(*work.feeds[i], fetched[i]);
    if (!one && !client_->connected()) return one;
    if (checked && !one) checked = std::move(one);
  }
  bool others_read = false;
  // One that is gone may come back with what was to be read.
  if (work.others && seen.gone.empty()) {
    MILLRACE_ASSIGN(const auto unread, topics_.unread_by_others(*client_, ours.partitions));
    others_read = !unread;
    if (unread) waits_for(*unread);
  }
  if (ours.partitions.empty() && !said_empty_) {
    log_.warn(
        "the consumer group gives this member no partition: others have them all, or members of before that the "
        "server still counts; `member` names one so that it takes its own up again");
  }
  said_empty_ = ours.partitions.empty();
  metrics_.sessions.add(session - session_);
  session_ = session;
  give_up_ = SteadyTime::max();
  next_look_ = clock_->now() + options_->heartbeat;
  publish(std::move(ours.partitions), std::exchange(anew_, false), others_read);
  return checked;
}

// It is said at each turn, and the turns go on. Offsets of what is not there cannot be stored, and what comes back
// under its name counts something else.
void Desk::gone(const std::vector<std::uint32_t>& topics) {
  gone_.reset();
  if (topics.empty()) return;
  gone_ = missing(topic_text(*options_, topics.front()));
  const MutexLock lock(mutex_);
  for (const Partition partition : assignment_.partitions) {
    if (std::ranges::find(topics, partition.topic) != topics.end()) positions_->withdraw(id_of(partition));
  }
}

void Desk::waits_for(const Topics::Unread& unread) {
  if (std::exchange(waits_for_, unread.partition) == unread.partition) return;
  log_.info(
      "this member has read its partitions, and waits for other members to read theirs; what a member leaves unread "
      "comes here once the server has let go of that one",
      {{"partition", text(*options_, unread.partition)},
       {"read up to", std::to_string(unread.position.value())},
       {"end", std::to_string(unread.end.value())}});
}

void Desk::hold(const Work& work, const Ours& ours) {
  for (const auto& feed : work.feeds) {
    const PartitionId id = id_of(feed->partition());
    const std::int64_t delivered = feed->delivered();
    const bool still_ours = std::ranges::find(ours.partitions, feed->partition()) != ours.partitions.end();
    if (still_ours && delivered > positions_->settled(id).value_or(Watermark(delivered)).value()) {
      membership_.hold(*client_, feed->partition(), static_cast<std::uint64_t>(delivered) - 1);
    }
  }
}

// A feed that waits for what will not come: its partition ends before what it has read or has to read, or holds
// nothing any more. The figures alone are not believed.
Result<void> Desk::check(LaneFeed& feed, Watermark fetched) {
  const iggy::PartitionInfo* const info = topics_.info(feed.partition());
  if (info == nullptr) return {};
  const Watermark end = end_of(*info);
  feed.set_server_end(end);
  const bool unread = feed.end() && *feed.end() > fetched;
  if (end >= fetched && !(unread && (end < *feed.end() || info->messages == 0))) return {};
  const std::optional<KnownMessage> last = feed.last();
  if (last) {
    MILLRACE_ASSIGN(const auto loss, loss_of(*client_, *options_, feed.partition(), *last));
    if (loss) {
      lost(feed, *loss);
      return {};
    }
  }
  MILLRACE_ASSIGN(HeldRange range, held(*client_, *options_, feed.partition()));
  if (last) range.end = std::max(range.end, watermark_behind(last->offset));
  if (range.end < fetched || (unread && range.end < *feed.end())) {
    lost(feed, fmt::format("it had messages up to offset {}, but the server's next offset is {} now: it lost its "
                           "newest messages, or the topic was purged",
                           std::max(fetched, feed.end().value_or(fetched)).value() - 1, range.end.value()));
  } else if (unread && range.first.value() > fetched.value()) {
    removed(feed);
  }
  return {};
}

// Offsets count from 0 again: what was kept says nothing of these.
Result<void> Desk::made_anew(const std::vector<std::uint32_t>& topics) {
  if (options_->on_position_lost == OnPositionLost::fail) return millrace::fail(refused_anew(topics));
  for (const std::uint32_t topic : topics) {
    log_.warn("a topic was deleted and made anew while it was read; its partitions begin anew",
              {{"topic", topic_text(*options_, topic)}});
    const MutexLock lock(mutex_);
    for (std::uint32_t number = 0; number < topics_.partitions(topic); ++number) {
      const Partition partition{topic, number};
      const bool was_ours = std::ranges::find(assignment_.partitions, partition) != assignment_.partitions.end();
      positions_->forget(id_of(partition));
      // An offset of one that is ours may be what we stored for the old topic.
      lost_[partition] = {"the topic was deleted and made anew", !was_ours};
    }
  }
  return {};
}

// The run ends by it, and the next one must not go on in a new topic behind what was read of the old one.
Error Desk::refused_anew(const std::vector<std::uint32_t>& topics) {
  std::string why = topic_text(*options_, topics.front()) +
                    " was deleted and made anew while it was read, so that its positions mean nothing; set "
                    "on_position_lost to earliest or latest to go on with the new one";
  std::vector<Partition> ours;
  {
    const MutexLock lock(mutex_);
    ours = assignment_.partitions;
  }
  for (const Partition partition : ours) {
    if (std::ranges::find(topics, partition.topic) == topics.end()) continue;
    positions_->withdraw(id_of(partition));
    if (topics_.info(partition) == nullptr) continue;
    // It may have been stored already since the topic is another one.
    const auto deleted =
        client_->delete_offset(consumer_of(*options_), topic_name(*options_, partition.topic), partition.number);
    if (deleted || deleted.error().code() == ErrorCode::not_found) continue;
    why += fmt::format(
        "; the server may keep an offset of {} that is about the old one, and would not delete it ({}): "
        "delete it before the next run",
        text(*options_, partition), deleted.error().message());
  }
  return Error::fatal(ErrorCode::drift, std::move(why));
}

// Both at once: what others have read is said of the partitions that they have beside these.
void Desk::publish(std::vector<Partition> ours, bool anew, bool others_read) {
  {
    const MutexLock lock(mutex_);
    const bool same = assignment_.number != 0 && !anew && assignment_.partitions == ours;
    const bool read_now = others_read && !others_read_;
    others_read_ = others_read;
    if (same && !read_now) return;
    if (!same) {
      if (assignment_.number != 0) metrics_.rebalances.add();
      ++assignment_.number;
      assignment_.partitions = std::move(ours);
    }
  }
  wake_();
}

}  // namespace millrace::iggy_source
