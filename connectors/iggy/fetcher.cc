// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/fetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/iggy/held.h"
#include "connectors/iggy/patience.h"

namespace millrace::iggy_source {
namespace {

// A partition that stays empty is asked less and less often, down to this.
constexpr Duration kLongestIdle = std::chrono::milliseconds(500);
}  // namespace

Fetcher::Fetcher(const IggySourceOptions& options, std::unique_ptr<iggy::Client> client, const SourceContext& context,
                 Metrics metrics, Hears hears)
    : options_(&options),
      client_(std::move(client)),
      clock_(context.clock),
      log_(context.log),
      metrics_(std::move(metrics)),
      hears_(std::move(hears)) {}

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
    if (place.over || !place.feed->wants()) continue;
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
  metrics_.sessions.add(client_->sessions() - std::exchange(session_, client_->sessions()));
  if (place.session != session_) {
    MILLRACE_TRY(compare(place));
    place.session = session_;
    if (place.over) return {};
  }
  const Partition partition = place.feed->partition();
  iggy::PolledMessages polled = place.feed->spare();
  const iggy::TopicName topic = topic_name(*options_, partition.topic);
  metrics_.polls.add();
  MILLRACE_TRY(
      client_->poll({reader(), topic, partition.number, iggy::PollFrom::offset(static_cast<std::uint64_t>(from)),
                     static_cast<std::uint32_t>(options_->batch_length)},
                    polled));
  // The client has connected anew meanwhile, to ask for less: what it was given is not compared with what was read.
  if (client_->sessions() != session_) {
    place.feed->give_back(std::move(polled));
    return {};
  }
  complained_.clear();
  place.complained.clear();
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
  if (polled.messages().front().offset > static_cast<std::uint64_t>(from)) {
    MILLRACE_TRY(skipped(place, from, polled.messages().front().offset));
    if (place.over) return {};
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
Result<void> Fetcher::compare(Place& place) {
  const std::optional<KnownMessage> last = place.feed->last();
  if (!last) return {};
  MILLRACE_ASSIGN(std::optional<std::string> loss, loss_of(*client_, *options_, place.feed->partition(), *last));
  if (!loss) return {};
  place.over = true;
  hears_.lost(*place.feed, *std::move(loss));
  return {};
}

// Offsets of a partition have no gaps but where messages were removed.
Result<void> Fetcher::skipped(Place& place, std::int64_t from, std::uint64_t next) {
  MILLRACE_ASSIGN(const HeldRange range, held(*client_, *options_, place.feed->partition()));
  if (range.first.value() > from) {
    place.over = true;
    hears_.removed(*place.feed);
    return {};
  }
  log_.warn("the server has no messages at some offsets, though it has some before and behind them; going on behind",
            {{"partition", text(*options_, place.feed->partition())},
             {"from", std::to_string(from)},
             {"to", std::to_string(next - 1)}});
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
  // Once, of each partition with trouble of its own beside others that are well, and of trouble that they all have.
  const bool said = error.message() == complained_ || (place != nullptr && error.message() == place->complained);
  if (!said) log_.warn("messages cannot be fetched from Iggy now; trying again", {{"why", error.describe()}});
  complained_ = error.message();
  if (place != nullptr) {
    place->complained = error.message();
    place->due = clock_->now() + kPause;
  }
  return true;
}

}  // namespace millrace::iggy_source
