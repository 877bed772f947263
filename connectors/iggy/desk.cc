// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

// After something that may pass, before it is tried again. Connecting has a backoff of its own.
constexpr Duration kPause = std::chrono::milliseconds(500);
constexpr int kMostDamaged = 3;
// How long one turn tries to connect, so that it hears of other things.
constexpr Duration kConnectTurn = std::chrono::seconds(2);
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
  return std::exchange(answer_, std::nullopt);
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

void Desk::lost(Partition partition, std::string what) {
  {
    const MutexLock lock(mutex_);
    if (!lost_.emplace(partition, std::move(what)).second) return;
    // What is durable from here on are not the messages that the server has under these offsets.
    positions_->drop(id_of(partition));
    // The lanes begin anew; where, is decided when they are asked for.
    ++assignment_.number;
    changed_.notify_all();
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
  while (!closing_ && !question_ && !to_store_ && !look_now_ && clock_->now() < until) {
    clock_->wait_until(changed_, mutex_, until);
  }
  to_store_ = false;
  if (std::exchange(look_now_, false)) next_look_ = SteadyTime::min();
  return {closing_, question_, feeds_, lost_};
}

void Desk::run() {
  SteadyTime until = SteadyTime::min();
  for (;;) {
    const Work work = next_work(until);
    if (work.closing) break;
    if (auto done = turn(work); !done) {
      const Error& error = done.error();
      const bool too_late = clock_->now() >= give_up_;
      if (error.code() == ErrorCode::cancelled) break;
      // Bytes that are not sound may have been damaged on the way; what stays so is damaged where it is stored.
      const bool damaged = error.code() == ErrorCode::corrupt && ++damaged_ < kMostDamaged;
      if ((!error.is_retryable() && !damaged) || too_late) {
        fail(std::move(done).error().as(ErrorClass::fatal));
        break;
      }
      complain(error);
      positions_->store_failed(error);
      // A question stays where it is, so the pause is taken here.
      const MutexLock lock(mutex_);
      const SteadyTime again = clock_->now() + kPause;
      while (!closing_ && clock_->now() < again) clock_->wait_until(changed_, mutex_, again);
      until = clock_->now();
      continue;
    }
    complained_.clear();
    damaged_ = 0;
    until = next_look_;
  }
  end();
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
  MILLRACE_TRY(store_settled());
  if (clock_->now() >= next_look_) MILLRACE_TRY(look(work));
  if (work.question) MILLRACE_TRY(answer(work));
  return client_->keep_alive();
}

// What is there, and what of it is ours: at each heartbeat, and after each login.
Result<void> Desk::look(const Work& work) {
  MILLRACE_ASSIGN(const bool anew, topics_.look(*client_));
  if (anew) MILLRACE_TRY(made_anew());
  MILLRACE_ASSIGN(std::vector<Partition> ours, membership_.ask(*client_));
  for (const auto& feed : work.feeds) {
    const PartitionId id = id_of(feed->partition());
    const std::int64_t delivered = feed->delivered();
    const bool still_ours = std::ranges::find(ours, feed->partition()) != ours.end();
    if (still_ours && delivered > positions_->settled(id).value_or(Watermark(delivered)).value()) {
      membership_.hold(*client_, feed->partition(), static_cast<std::uint64_t>(delivered) - 1);
    }
  }
  if (ours.empty() && !said_empty_) {
    log_.warn(
        "the consumer group gives this member no partition: others have them all, or members of before that the "
        "server still counts; `member` names one so that it takes its own up again");
  }
  said_empty_ = ours.empty();
  if (session_ != client_->sessions()) metrics_.sessions.add(client_->sessions() - session_);
  session_ = client_->sessions();
  give_up_ = SteadyTime::max();
  next_look_ = clock_->now() + options_->heartbeat;
  publish(std::move(ours), anew);
  return {};
}

// Offsets count from 0 again: what was kept says nothing of this one.
Result<void> Desk::made_anew() {
  if (options_->on_position_lost == OnPositionLost::fail) {
    return millrace::fail(
        Error::fatal(ErrorCode::drift,
                     "a topic was deleted and made anew while it was read, so that its positions mean nothing; set "
                     "on_position_lost to earliest or latest to go on with the new one"));
  }
  log_.warn("a topic was deleted and made anew while it was read; its partitions begin anew");
  for (std::uint32_t topic = 0; topic < topics_.count(); ++topic) {
    for (std::uint32_t number = 0; number < topics_.partitions(topic); ++number) {
      positions_->forget(id_of({topic, number}));
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
  for (const Partition partition : work.question->partitions) {
    const auto lost = work.lost.find(partition);
    const auto what = lost == work.lost.end() ? std::nullopt : std::optional(lost->second);
    MILLRACE_ASSIGN(Beginning beginning,
                    topics_.begin(*client_, partition, positions_->settled(id_of(partition)), what));
    beginnings.lanes.push_back(beginning);
  }
  for (std::uint32_t topic = 0; topic < topics_.count(); ++topic) beginnings.lineages.push_back(topics_.lineage(topic));
  {
    const MutexLock lock(mutex_);
    for (const auto& [partition, what] : work.lost) lost_.erase(partition);
    if (question_ && question_->number == work.question->number) {
      question_.reset();
      answer_ = std::move(beginnings);
    }
  }
  wake_();
  return {};
}

Result<void> Desk::store_settled() {
  const iggy::Consumer consumer = consumer_of(*options_);
  for (const PartitionWatermark& one : positions_->to_store()) {
    const Partition partition = partition_of(one.partition);
    const std::optional<std::uint64_t> offset = stored_offset(one.watermark);
    if (!offset) continue;
    MILLRACE_ASSIGN(const iggy::StoreOutcome outcome,
                    client_->store_offset(consumer, topics_.name(partition.topic), partition.number, *offset));
    switch (outcome) {
      case iggy::StoreOutcome::stored:
        positions_->stored(one);
        metrics_.stores.add();
        break;
      case iggy::StoreOutcome::not_ours: {
        positions_->drop(one.partition);
        metrics_.dropped_stores.add();
        log_.warn(
            "an offset was not stored, as the partition is another member's by now; that one reads some records "
            "again",
            {{"partition", topics_.text(partition)}, {"offset", std::to_string(*offset)}});
        const MutexLock lock(mutex_);
        look_now_ = true;
        break;
      }
      case iggy::StoreOutcome::beyond_end:
        positions_->drop(one.partition);
        lost(partition,
             fmt::format("offset {} is durable here, but the server does not have it (any more): it lost its "
                         "newest messages, or the topic was purged",
                         *offset));
        break;
    }
  }
  return {};
}

}  // namespace millrace::iggy_source
