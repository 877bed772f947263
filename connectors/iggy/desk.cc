// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

bool Desk::others_are_read(std::uint64_t assignment) {
  const MutexLock lock(mutex_);
  if (!std::exchange(ask_others_, true)) {
    look_now_ = true;
    changed_.notify_all();
  }
  return others_read_ && assignment_.number == assignment;
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
  // What comes next would be asked in another session, of which nothing was compared.
  if (!doubts && !client_->connected()) return doubts;
  MILLRACE_TRY(store_settled());
  if (failed_) {
    next_look_ = clock_->now() + options_->heartbeat;
  } else {
    if (clock_->now() >= next_look_) MILLRACE_TRY(look(work));
    if (work.question) {
      // What it is about may have gone.
      if (auto answered = answer(work); !answered) {
        next_look_ = SteadyTime::min();
        return answered;
      }
    }
    if (gone_) return millrace::fail(*gone_);
  }
  if (!doubts) return doubts;
  return client_->keep_alive();
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
    beginnings.lanes.back().yields = 0;
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
