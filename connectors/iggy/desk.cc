// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/iggy/held.h"
#include "connectors/iggy/patience.h"

namespace millrace::iggy_source {
namespace {

// For goodbyes, when nobody sets a limit.
constexpr Duration kGoodbye = std::chrono::seconds(5);

}  // namespace

Desk::Desk(const IggySourceOptions& options, std::unique_ptr<iggy::Client> client, const SourceContext& context,
           Metrics metrics, Positions& positions, std::function<void()> wake)
    : options_(&options),
      client_(std::move(client)),
      clock_(context.clock),
      log_(context.log),
      metrics_(std::move(metrics)),
      positions_(&positions),
      wake_(std::move(wake)),
      topics_(options, context.log),
      membership_(options, topics_, context.log) {}

Desk::~Desk() { close(clock_->now() + kGoodbye); }

void Desk::start() {
  give_up_ = clock_->now() + options_->connect_timeout;
  thread_ = Thread("iggy-desk", [this] { run(); });
}

Assignment Desk::assignment() const {
  const MutexLock lock(mutex_);
  return assignment_;
}

void Desk::ask_beginnings(Assignment assignment) {
  const MutexLock lock(mutex_);
  question_ = std::move(assignment);
  answer_.reset();
  changed_.notify_all();
}

std::optional<Beginnings> Desk::take_beginnings() {
  const MutexLock lock(mutex_);
  std::optional<Beginnings> taken = std::exchange(answer_, std::nullopt);
  if (!taken || taken->assignment != assignment_.number) return std::nullopt;
  for (const Partition partition : taken->lost) lost_.erase(partition);
  return taken;
}

bool Desk::others_are_read() {
  const MutexLock lock(mutex_);
  if (!std::exchange(ask_others_, true)) {
    look_now_ = true;
    changed_.notify_all();
  }
  return others_read_;
}

std::optional<std::string> Desk::loss() const {
  const MutexLock lock(mutex_);
  for (const auto& [partition, loss] : lost_) {
    if (!loss.unless_stored) return fmt::format("{}: {}", text(*options_, partition), loss.what);
  }
  return std::nullopt;
}

std::optional<Error> Desk::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

void Desk::store() {
  const MutexLock lock(mutex_);
  to_store_ = true;
  changed_.notify_all();
}

void Desk::feeds(std::vector<std::shared_ptr<LaneFeed>> feeds) {
  const MutexLock lock(mutex_);
  feeds_ = std::move(feeds);
}

void Desk::lost(const LaneFeed& feed, std::string what) {
  {
    const MutexLock lock(mutex_);
    if (!std::ranges::any_of(feeds_, [&](const auto& live) { return live.get() == &feed; })) return;
  }
  lose(feed.partition(), std::move(what));
}

void Desk::lose(Partition partition, std::string what) {
  {
    const MutexLock lock(mutex_);
    const auto [known, is_new] = lost_.try_emplace(partition);
    if (!is_new && !known->second.unless_stored) return;
    known->second = {std::move(what), false};
    // What is durable from here on are not the messages that the server has under these offsets.
    positions_->withdraw(id_of(partition));
    // The lanes begin anew; where, is decided when they are asked for.
    ++assignment_.number;
    changed_.notify_all();
  }
  wake_();
}

void Desk::removed(const LaneFeed& feed) {
  {
    const MutexLock lock(mutex_);
    if (!std::ranges::any_of(feeds_, [&](const auto& live) { return live.get() == &feed; })) return;
    // Once for each life of the lanes.
    feeds_.clear();
    ++assignment_.number;
  }
  wake_();
}

void Desk::fail(Error error) {
  {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::move(error);
  }
  wake_();
}

void Desk::close(SteadyTime deadline) {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    while (!ended_ && clock_->now() < deadline) clock_->wait_until(changed_, mutex_, deadline);
  }
  client_->cancel();
  thread_.join();
}

Desk::Work Desk::next_work(SteadyTime until) {
  const MutexLock lock(mutex_);
  // The run ends: nothing begins any more.
  if (failed_) question_.reset();
  while (!closing_ && !question_ && !to_store_ && !look_now_ && clock_->now() < until) {
    clock_->wait_until(changed_, mutex_, until);
  }
  to_store_ = false;
  if (std::exchange(look_now_, false)) next_look_ = SteadyTime::min();
  if (failed_) question_.reset();
  return {closing_, ask_others_, question_, feeds_};
}

void Desk::run() {
  SteadyTime until = SteadyTime::min();
  for (;;) {
    const Work work = next_work(until);
    if (work.closing) break;
    if (auto done = turn(work); !done) {
      if (!goes_on(std::move(done).error())) break;
      until = rest();
      continue;
    }
    complained_.clear();
    damaged_ = 0;
    until = next_look_;
  }
  end();
}

// What may pass is waited for. What does not ends the run, whose last offsets are stored if the server takes them.
bool Desk::goes_on(Error error) {
  if (error.code() == ErrorCode::cancelled) {
    positions_->close(std::move(error).as(ErrorClass::fatal));
    return false;
  }
  const bool too_late = clock_->now() >= give_up_;
  const bool damaged = error.code() == ErrorCode::corrupt && ++damaged_ < kMostDamaged;
  if ((error.is_retryable() || damaged) && !too_late) {
    complain(error);
    positions_->store_failed(std::move(error));
    return true;
  }
  const Error fatal = std::move(error).as(ErrorClass::fatal);
  fail(fatal);
  if (!std::exchange(failed_, true) && client_->connected()) return true;
  positions_->close(fatal);
  return false;
}

// A question stays where it is, so the pause is taken here. Returns until when to wait for work.
SteadyTime Desk::rest() {
  const MutexLock lock(mutex_);
  const SteadyTime again = clock_->now() + kPause;
  while (!closing_ && clock_->now() < again) clock_->wait_until(changed_, mutex_, again);
  return clock_->now();
}

// The same trouble again and again is said once.
void Desk::complain(const Error& error) {
  if (error.message() == complained_) return;
  complained_ = error.message();
  log_.warn("the Iggy server is not as it should be; trying again", {{"why", error.describe()}});
}

void Desk::end() {
  SteadyTime deadline = clock_->now() + kGoodbye;
  if (client_->connected()) {
    membership_.leave(*client_);
    client_->log_out(deadline);
  }
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<void> Desk::turn(const Work& work) {
  MILLRACE_TRY(client_->connect(clock_->now() + kConnectTurn));
  if (client_->sessions() != session_) next_look_ = SteadyTime::min();
  if (client_->sessions() != std::exchange(doubted_, client_->sessions())) positions_->doubt_all();
  const Result<void> doubts = settle_doubts();
  MILLRACE_TRY(store_settled());
  if (failed_) {
    next_look_ = clock_->now() + options_->heartbeat;
  } else {
    if (clock_->now() >= next_look_) MILLRACE_TRY(look(work));
    if (work.question) MILLRACE_TRY(answer(work));
  }
  if (!doubts) return doubts;
  return client_->keep_alive();
}

// What is there, and what of it is ours: at each heartbeat, and after each login.
Result<void> Desk::look(const Work& work) {
  // Before the figures, which are newer then.
  std::vector<Watermark> fetched;
  fetched.reserve(work.feeds.size());
  for (const auto& feed : work.feeds) fetched.push_back(feed->fetched());
  MILLRACE_ASSIGN(const std::vector<std::uint32_t> anew, topics_.look(*client_));
  if (!anew.empty()) MILLRACE_TRY(made_anew(anew));
  // Until it is published, whatever else of this look fails.
  anew_ = anew_ || !anew.empty();
  MILLRACE_ASSIGN(Ours ours, membership_.ask(*client_));
  told(ours);
  hold(work, ours);
  Result<void> checked;
  for (std::size_t i = 0; !anew_ && i < fetched.size(); ++i) {
    Result<void> one = check(*work.feeds[i], fetched[i]);
    if (!one && !client_->connected()) return one;
    if (checked && !one) checked = std::move(one);
  }
  if (work.others) {
    MILLRACE_ASSIGN(const bool read, topics_.others_are_read(*client_, ours.partitions));
    {
      const MutexLock lock(mutex_);
      others_read_ = read;
    }
    if (read) wake_();
  }
  if (ours.partitions.empty() && !said_empty_) {
    log_.warn(
        "the consumer group gives this member no partition: others have them all, or members of before that the "
        "server still counts; `member` names one so that it takes its own up again");
  }
  said_empty_ = ours.partitions.empty();
  if (session_ != client_->sessions()) metrics_.sessions.add(client_->sessions() - session_);
  session_ = client_->sessions();
  give_up_ = SteadyTime::max();
  next_look_ = clock_->now() + options_->heartbeat;
  publish(std::move(ours.partitions), std::exchange(anew_, false));
  return checked;
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
  for (const std::uint32_t topic : topics) {
    const std::string named = fmt::format("topic '{}/{}'", options_->stream, options_->topics[topic]);
    if (options_->on_position_lost == OnPositionLost::fail) {
      return millrace::fail(
          Error::fatal(ErrorCode::drift, fmt::format("{} was deleted and made anew while it was read, so that its "
                                                     "positions mean nothing; set on_position_lost to earliest or "
                                                     "latest to go on with the new one",
                                                     named)));
    }
    log_.warn("a topic was deleted and made anew while it was read; its partitions begin anew", {{"topic", named}});
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

void Desk::publish(std::vector<Partition> ours, bool anew) {
  {
    const MutexLock lock(mutex_);
    if (assignment_.number != 0 && !anew && assignment_.partitions == ours) return;
    if (assignment_.number != 0) metrics_.rebalances.add();
    ++assignment_.number;
    assignment_.partitions = std::move(ours);
  }
  wake_();
}

Result<void> Desk::answer(const Work& work) {
  Beginnings beginnings;
  beginnings.assignment = work.question->number;
  std::map<Partition, Loss> losses;
  {
    // What the look of this very turn has found is among them.
    const MutexLock lock(mutex_);
    losses = lost_;
  }
  for (const Partition partition : work.question->partitions) {
    const auto lost = losses.find(partition);
    std::optional<Loss> loss;
    if (lost != losses.end()) {
      loss = lost->second;
      beginnings.lost.push_back(partition);
    }
    MILLRACE_ASSIGN(Beginning beginning, topics_.begin(*client_, partition, positions_->kept(id_of(partition)), loss));
    beginnings.lanes.push_back(std::move(beginning));
    if (!loss) continue;
    // It is settled at the server: should this answer come too late, the next one goes on behind what is stored now.
    positions_->forget(id_of(partition));
    const MutexLock lock(mutex_);
    lost_[partition].unless_stored = true;
  }
  for (std::uint32_t topic = 0; topic < topics_.count(); ++topic) beginnings.lineages.push_back(topics_.lineage(topic));
  {
    const MutexLock lock(mutex_);
    if (question_ && question_->number == work.question->number) {
      question_.reset();
      answer_ = std::move(beginnings);
    }
  }
  wake_();
  return {};
}

}  // namespace millrace::iggy_source
