// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {
namespace {

// Gauges follow at this pace.
constexpr Duration kPostEvery = std::chrono::seconds(1);

}  // namespace

// With fail the source ends where it sees this. Where it cannot, a sink that writes exactly once does, by the times
// that it notes (ADR-0016).
std::string replay_gap(OnPositionLost lost) {
  if (lost == OnPositionLost::fail) return {};
  return "with on_position_lost other than fail it goes on where an offset may stand for another message than before, "
         "as "
         "a server of Iggy that was killed gives the offsets of what it lost to what comes next; set it to fail";
}

GroupSource::GroupSource(IggySourceOptions options, bool per_partition)
    : options_(std::move(options)), per_partition_(per_partition) {}

GroupSource::~GroupSource() = default;

Result<void> GroupSource::open(SourceContext context) {
  context_ = std::move(context);
  MILLRACE_ASSIGN(metrics_, Metrics::make(context_.meter));
  MILLRACE_ASSIGN(gauges_, StreamGauges::make(context_.meter, "iggy", per_partition_));
  iggy::ClientOptions control = client_options(options_, context_);
  control.client_id = member_id(options_);
  MILLRACE_ASSIGN(std::unique_ptr<iggy::Client> client, iggy::Client::make(std::move(control)));
  const Waker event(event_);
  desk_ = std::make_unique<Desk>(options_, std::move(client), context_, metrics_, positions_,
                                 [event, engine = context_.control] {
                                   event.wake();
                                   engine.wake();
                                 });
  for (std::uint64_t i = 0; i < options_.connections; ++i) {
    MILLRACE_ASSIGN(std::unique_ptr<iggy::Client> reader, iggy::Client::make(client_options(options_, context_)));
    fetchers_.push_back(std::make_unique<Fetcher>(
        options_, std::move(reader), context_, metrics_,
        Fetcher::Hears{[this](const LaneFeed& feed, std::string what) { desk_->lost(feed, std::move(what)); },
                       [this](const LaneFeed& feed) { desk_->removed(feed); }}));
  }
  desk_->start();
  for (const auto& fetcher : fetchers_) fetcher->start();
  return {};
}

Result<SourceEvent> GroupSource::poll_events(Duration timeout) {
  const SteadyTime deadline = timeout > Duration::zero() ? context_.clock->now() + timeout : SteadyTime::min();
  for (;;) {
    const EventCount::Ticket ticket = event_->ticket();
    Result<SourceEvent> event = serve();
    if (!event || !std::holds_alternative<Idle>(*event)) return event;
    if (context_.clock->now() >= deadline) return Idle{};
    event_->wait_until(ticket, *context_.clock, deadline);
  }
}

// What the desk has found out, one step at a time: a new assignment, then the beginnings of its lanes. Idle: nothing.
Result<SourceEvent> GroupSource::serve() {
  if (auto error = desk_->failure()) return fail(*std::move(error));
  post_positions();
  if (revoking_) return Idle{};
  const Assignment wanted = desk_->assignment();
  if (wanted.number != 0 && wanted.number != held_assignment_ && !finished_) {
    if (!lanes_.empty()) {
      revoking_ = true;
      LanesRevoked revoked;
      for (const auto& [lane, held] : lanes_) revoked.lanes.push_back(lane);
      return revoked;
    }
    if (asked_assignment_ != wanted.number) {
      asked_assignment_ = wanted.number;
      desk_->ask_beginnings(wanted);
    }
    if (auto beginnings = desk_->take_beginnings()) return assign(*std::move(beginnings));
    return Idle{};
  }
  if (options_.bounded && !finished_ && wanted.number != 0 && all_read()) {
    finished_ = true;
    return Finished{};
  }
  return Idle{};
}

SourceEvent GroupSource::assign(Beginnings beginnings) {
  held_assignment_ = beginnings.assignment;
  LanesAssigned assigned;
  for (const Beginning& one : beginnings.lanes) {
    positions_.own(id_of(one.partition), one.from, one.stored, one.known, one.yields);
    assigned.lanes.push_back(make_lane(one, beginnings.lineages[one.partition.topic]));
  }
  spread();
  context_.log.info("partitions of Iggy were assigned", {{"partitions", std::to_string(assigned.lanes.size())}});
  return assigned;
}

std::unique_ptr<SourceLane> GroupSource::make_lane(const Beginning& beginning, const std::string& lineage) {
  const Partition partition = beginning.partition;
  auto origin = std::make_shared<Origin>();
  origin->stream = options_.stream;
  origin->topic = options_.topics[partition.topic];
  origin->partition = partition_of_topic(options_.topics, partition.topic, partition.number);
  origin->lineage = lineage;
  IggyLane::Setup setup;
  setup.id = LaneId(next_lane_++);
  setup.feed = std::make_shared<LaneFeed>(beginning, options_.prefetch_bytes.bytes);
  setup.acks = context_.acks;
  setup.origin = std::move(origin);
  setup.clock = context_.clock;
  setup.control = context_.control;
  setup.metrics = metrics_;
  lanes_[setup.id] = {setup.feed, id_of(partition)};
  feeds_[id_of(partition)] = setup.feed;
  return std::make_unique<IggyLane>(std::move(setup));
}

// Partitions over connections, in turn.
void GroupSource::spread() {
  std::vector<std::shared_ptr<LaneFeed>> all;
  std::vector<std::vector<std::shared_ptr<LaneFeed>>> shares(fetchers_.size());
  for (const auto& [lane, held] : lanes_) {
    shares[all.size() % shares.size()].push_back(held.feed);
    all.push_back(held.feed);
  }
  // First, as a fetcher says but once that a feed cannot go on.
  desk_->feeds(std::move(all));
  for (std::size_t i = 0; i < fetchers_.size(); ++i) fetchers_[i]->serve(std::move(shares[i]));
}

void GroupSource::set_paused(std::span<const LaneId> lanes, bool paused) {
  for (const LaneId lane : lanes) {
    if (const auto found = lanes_.find(lane); found != lanes_.end()) found->second.feed->pause(paused);
  }
}

Result<void> GroupSource::commit(std::span<const PartitionWatermark> watermarks) {
  for (const PartitionWatermark& one : watermarks) {
    const auto feed = feeds_.find(one.partition);
    if (feed != feeds_.end()) positions_.settle(one, feed->second->settle(one.watermark));
  }
  desk_->store();
  return {};
}

Result<void> GroupSource::flush_commits_by(SteadyTime deadline) {
  if (!desk_) return {};
  desk_->store();
  MILLRACE_TRY(positions_.wait_until_stored(*context_.clock, deadline));
  // Lanes that go because of a loss begin anew, and it is said then. At the end nothing begins.
  const auto loss = revoking_ ? std::nullopt : desk_->loss();
  if (!loss) return {};
  if (options_.on_position_lost == OnPositionLost::fail) {
    return fail(Error::fatal(
        ErrorCode::drift, *loss + "; its last offset was not stored. Set on_position_lost to earliest or latest to go "
                                  "on with what the server has"));
  }
  context_.log.warn("an offset was not stored at the end", {{"why", *loss}});
  return {};
}

void GroupSource::revoked(std::span<const LaneId> /*lanes*/) {
  let_go();
  revoking_ = false;
  event_->signal();
  context_.control.wake();
}

void GroupSource::let_go() {
  for (const auto& [lane, held] : lanes_) {
    gauges_.forget(options_.topics[held.feed->partition().topic], held.feed->partition().number);
  }
  lanes_.clear();
  feeds_.clear();
  positions_.disown_all();
  spread();
}

void GroupSource::close_by(SteadyTime deadline) {
  fetchers_.clear();
  if (desk_) desk_->close(deadline);
}

// What was there at the start: here, and by the group's other members, whose partitions may come here as long as it is
// not.
bool GroupSource::all_read() {
  return std::ranges::all_of(lanes_, [](const auto& lane) { return lane.second.feed->exhausted(); }) &&
         desk_->others_are_read(held_assignment_);
}

void GroupSource::post_positions() {
  const SteadyTime now = context_.clock->now();
  if (now < posted_) return;
  posted_ = now + kPostEvery;
  for (const auto& [lane, held] : lanes_) {
    StreamPositions at;
    at.begin = held.feed->begin().value();
    at.end = held.feed->server_end();
    at.fetched = held.feed->delivered();
    if (const auto settled = positions_.settled(held.id)) at.durable = settled->value();
    if (const auto stored = positions_.stored(held.id)) at.committed = stored->value();
    gauges_.set(options_.topics[held.feed->partition().topic], held.feed->partition().number, at);
  }
}

std::string GroupSource::committed_summary() const {
  return fmt::format("the Iggy server at {} keeps the offsets of {} '{}'; the next run goes on behind them",
                     options_.address, options_.consumer_group.empty() ? "consumer" : "group",
                     options_.consumer_group.empty() ? options_.consumer : options_.consumer_group);
}

}  // namespace millrace::iggy_source
