// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

// A partition that stays empty is asked less and less often, down to this.
constexpr Duration kLongestIdle = std::chrono::milliseconds(500);
// Before something that failed is tried again; connecting has a backoff of its own.
constexpr Duration kPause = std::chrono::milliseconds(500);
constexpr Duration kConnectTurn = std::chrono::seconds(2);
// Bytes that are not sound may have been damaged on the way; what stays so is damaged where it is stored.
constexpr int kMostDamaged = 3;

const iggy::Consumer kReader = iggy::Consumer::individual(iggy::Identifier::number(0));

}  // namespace

Fetcher::Fetcher(const IggySourceOptions& options, std::unique_ptr<iggy::Client> client, const SourceContext& context,
                 Metrics metrics, Lost lost)
    : options_(&options),
      client_(std::move(client)),
      clock_(context.clock),
      log_(context.log),
      metrics_(std::move(metrics)),
      lost_(std::move(lost)) {}

Fetcher::~Fetcher() {
  closing_.store(true, memory_order_release);
  client_->cancel();
  event_->signal();
}

void Fetcher::start() {
  thread_ = Thread("iggy-fetch", [this] { run(); });
}

void Fetcher::serve(std::vector<std::shared_ptr<LaneFeed>> feeds) {
  for (const auto& feed : feeds) feed->on_room(Waker(event_));
  {
    const MutexLock lock(mutex_);
    given_ = std::move(feeds);
  }
  event_->signal();
}

void Fetcher::take_feeds() {
  std::optional<std::vector<std::shared_ptr<LaneFeed>>> given;
  {
    const MutexLock lock(mutex_);
    given = std::exchange(given_, std::nullopt);
  }
  if (!given) return;
  places_.clear();
  for (auto& feed : *given) places_.push_back({std::move(feed)});
  turn_ = 0;
}

void Fetcher::run() {
  while (!closing_.load(memory_order_acquire)) {
    const EventCount::Ticket ticket = event_->ticket();
    take_feeds();
    SteadyTime wake_at = SteadyTime::max();
    Place* const place = next(clock_->now(), wake_at);
    if (place == nullptr) {
      event_->wait_until(ticket, *clock_, std::min(wake_at, clock_->now() + options_->heartbeat));
      // A connection that nobody needs now is kept for the next message.
      if (client_->connected()) {
        if (auto alive = client_->keep_alive(); !alive && !failed(nullptr, std::move(alive).error())) return;
      }
      continue;
    }
    const std::optional<std::int64_t> from = place->feed->wants();
    if (!from) continue;
    if (auto done = fetch(*place, *from); !done && !failed(place, std::move(done).error())) return;
  }
}

// Whose turn it is, of those that want something and are due; otherwise when to look again.
Fetcher::Place* Fetcher::next(SteadyTime now, SteadyTime& wake_at) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[(turn_ + i) % places_.size()];
    if (place.lost || !place.feed->wants()) continue;
    if (place.due <= now) {
      turn_ = (turn_ + i + 1) % places_.size();
      return &place;
    }
    wake_at = std::min(wake_at, place.due);
  }
  return nullptr;
}

Result<void> Fetcher::fetch(Place& place, std::int64_t from) {
  MILLRACE_TRY(client_->connect(clock_->now() + kConnectTurn));
  if (client_->sessions() != session_) {
    const std::uint64_t sessions = client_->sessions();
    if (session_ != 0) MILLRACE_TRY(compare());
    metrics_.sessions.add(sessions - session_);
    session_ = sessions;
    if (place.lost) return {};
  }
  const Partition partition = place.feed->partition();
  iggy::PolledMessages polled = place.feed->spare();
  const iggy::TopicName topic{iggy::Identifier::name(options_->stream),
                              iggy::Identifier::name(options_->topics[partition.topic])};
  metrics_.polls.add();
  MILLRACE_TRY(
      client_->poll({kReader, topic, partition.number, iggy::PollFrom::offset(static_cast<std::uint64_t>(from)),
                     static_cast<std::uint32_t>(options_->batch_length)},
                    polled));
  complained_.clear();
  place.damaged = 0;
  if (polled.messages().empty()) {
    idle(place);
    place.feed->give_back(std::move(polled));
    return {};
  }
  if (polled.messages().front().offset < static_cast<std::uint64_t>(from)) {
    return millrace::fail(Error::fatal(
        ErrorCode::bad_response,
        fmt::format("the Iggy server gave offset {} of '{}' partition {}, though it was asked for {} and later",
                    polled.messages().front().offset, options_->topics[partition.topic], partition.number, from)));
  }
  place.idle = Duration(0);
  place.feed->put(std::move(polled));
  return {};
}

void Fetcher::idle(Place& place) {
  place.idle =
      std::min(std::max(options_->poll_interval, place.idle * 2), std::max(kLongestIdle, options_->poll_interval));
  place.due = clock_->now() + place.idle;
}

// A server that was away may have lost what it had not written: what stands where the last message stood must be that
// message still. Messages behind it that others have sent since would be skipped, or taken for others.
Result<void> Fetcher::compare() {
  for (Place& place : places_) {
    const std::optional<LastMessage> last = place.feed->last();
    if (!last) continue;
    const Partition partition = place.feed->partition();
    const iggy::TopicName topic{iggy::Identifier::name(options_->stream),
                                iggy::Identifier::name(options_->topics[partition.topic])};
    iggy::PolledMessages polled;
    MILLRACE_TRY(client_->poll({kReader, topic, partition.number, iggy::PollFrom::offset(last->offset), 1}, polled));
    const iggy::Message* const now = polled.messages().empty() ? nullptr : &polled.messages().front();
    // Removed by retention, which takes what is oldest: nothing is wrong with what follows.
    if (now != nullptr && now->offset > last->offset) continue;
    if (now != nullptr && now->id == last->id && now->timestamp == last->timestamp) continue;
    place.lost = true;
    lost_(partition,
          fmt::format("the message at offset {} (id {}, taken {}) was read, but after the server was away {}",
                      last->offset, iggy::to_string(last->id), to_rfc3339(static_cast<UnixMicros>(last->timestamp), 6),
                      now == nullptr
                          ? "nothing is there"
                          : fmt::format("another one is there (id {}): messages were lost", iggy::to_string(now->id))));
  }
  return {};
}

// False when the fetcher is to end.
bool Fetcher::failed(Place* place, Error error) {
  if (error.code() == ErrorCode::cancelled) return false;
  const bool damaged = error.code() == ErrorCode::corrupt && place != nullptr && ++place->damaged < kMostDamaged;
  if (!error.is_retryable() && !damaged) {
    if (place != nullptr) {
      place->feed->fail(std::move(error));
    } else {
      for (const Place& each : places_) each.feed->fail(error);
    }
    return true;
  }
  if (error.message() != complained_) {
    complained_ = error.message();
    log_.warn("messages cannot be fetched from Iggy now; trying again", {{"why", error.describe()}});
  }
  if (place != nullptr) place->due = clock_->now() + kPause;
  return true;
}

}  // namespace millrace::iggy_source
