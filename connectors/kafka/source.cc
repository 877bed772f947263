// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/properties.h"

namespace millrace::kafka {
namespace {

constexpr Duration kPostEvery = std::chrono::seconds(1);
// Of a bounded source that has read its own partitions and waits for the other members'.
constexpr Duration kAskRestEvery = std::chrono::milliseconds(500);

}  // namespace

GroupSource::GroupSource(KafkaSourceOptions options, bool per_partition)
    : options_(std::move(options)), numbers_(options_.topics), per_partition_(per_partition) {}

GroupSource::~GroupSource() {
  asking_rest_.reset();
  asking_beginnings_.reset();
  asking_cluster_.reset();
  if (queue_) Client::wake_on(queue_.get(), nullptr);
}

Result<ConfHandle> GroupSource::configure() const {
  MILLRACE_ASSIGN(ConfHandle conf, source_conf(options_, context_.pipeline));
  rd_kafka_conf_set_rebalance_cb(conf.get(), &on_rebalance);
  MILLRACE_TRY(traffic_->watch(*conf));
  return conf;
}

Result<void> GroupSource::open(SourceContext context) {
  context_ = std::move(context);
  // The engine waits for all its events at one place; a bare poll_events has its own.
  waker_ = context_.control ? context_.control : Waker(event_);
  MILLRACE_ASSIGN(metrics_, Metrics::make(context_.meter));
  MILLRACE_ASSIGN(gauges_, StreamGauges::make(context_.meter, "kafka", per_partition_));
  MILLRACE_ASSIGN(ConfHandle conf, configure());
  MILLRACE_ASSIGN(client_, Client::make(RD_KAFKA_CONSUMER, std::move(conf), context_.log, this, traffic_));
  rd_kafka_poll_set_consumer(client_->get());
  queue_.reset(rd_kafka_queue_get_consumer(client_->get()));
  Client::wake_on(queue_.get(), &waker_);
  store_ = std::make_unique<PositionStore>(client_, *traffic_, metrics_, *context_.clock, *context_.random,
                                           context_.log, waker_);
  asking_cluster_ = std::make_unique<Inquiry<Cluster>>(
      [asking = asking()](StopSignal& stop) { return ask_cluster(asking, stop); }, waker_);
  return {};
}

Asking GroupSource::asking() const { return {client_, &options_, context_.clock, context_.random, context_.log}; }

Result<SourceEvent> GroupSource::poll_events(Duration timeout) {
  const SteadyTime deadline = context_.clock->now() + timeout;
  for (;;) {
    const EventCount::Ticket ticket = event_->ticket();
    MILLRACE_TRY(serve());
    if (!events_.empty()) {
      SourceEvent event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (!finished_ && options_.bounded && at_end()) {
      finished_ = true;
      return Finished{};
    }
    const SteadyTime now = context_.clock->now();
    if (now >= deadline) return Idle{};
    // The library's own pace where nobody is woken.
    event_->wait_until(ticket, *context_.clock, std::min(deadline, now + std::chrono::milliseconds(20)));
  }
}

Result<void> GroupSource::serve() {
  MILLRACE_TRY(serve_library());
  MILLRACE_TRY(store_->serve());
  if (asking_cluster_) {
    if (auto answer = asking_cluster_->take()) {
      asking_cluster_.reset();
      if (!*answer) return fail(std::move(*answer).error());
      MILLRACE_TRY(begin(**std::move(answer)));
    }
  }
  if (asking_beginnings_) {
    if (auto answer = asking_beginnings_->take()) {
      asking_beginnings_.reset();
      if (*answer) {
        found_ = **std::move(answer);
      } else {
        MILLRACE_TRY(begin_again(std::move(*answer).error()));
      }
    }
  }
  post_positions();
  return regroup();
}

/// Callbacks are called in here, and errors of the group come as messages.
Result<void> GroupSource::serve_library() {
  while (rd_kafka_message_t* const message = rd_kafka_consumer_poll(client_->get(), 0)) {
    const rd_kafka_resp_err_t code = message->err;
    const char* const text = rd_kafka_message_errstr(message);
    const std::string said = text == nullptr ? "" : text;
    rd_kafka_message_destroy(message);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__PARTITION_EOF) continue;
    Error error = error_of(code, fmt::format("the group '{}'", options_.group), said);
    if (!error.is_retryable()) return fail(std::move(error));
    context_.log.warn("kafka: trouble with the group", {{"error", error.describe()}});
  }
  if (failed_) return fail(*failed_);
  if (const auto fatal = client_->fatal()) return fail(*fatal);
  if (const auto refused = client_->refused(); refused && !cluster_) return fail(*refused);
  return {};
}

/// The cluster has answered: joins the group, or takes the partitions that are named.
Result<void> GroupSource::begin(Cluster cluster) {
  cluster_ = std::move(cluster);
  if (!options_.partitions.empty()) {
    assigned(cluster_->partitions);
    return {};
  }
  const ListHandle topics = new_list(options_.topics.size());
  for (const std::string& topic : options_.topics)
    rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  const auto code = rd_kafka_subscribe(client_->get(), topics.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, "joining the group"));
  return {};
}

/// Where partitions begin could not be told. When the group has gone on without this process, it is joined again.
Result<void> GroupSource::begin_again(Error error) {
  if (error.code() != ErrorCode::fenced || error.is_fatal()) return fail(std::move(error));
  if (!options_.partitions.empty()) {
    return fail(std::move(error)
                    .prefixed(fmt::format("the group '{}' has members that are alive, and `partitions` are named here: "
                                          "stop them, or give this pipeline a group of its own: ",
                                          options_.group))
                    .as(ErrorClass::fatal));
  }
  context_.log.warn("kafka: the group went on without this process; it joins again", {{"error", error.describe()}});
  take_nothing_new();
  return {};
}

bool GroupSource::incremental() const {
  const char* const protocol = rd_kafka_rebalance_protocol(client_->get());
  return protocol != nullptr && std::string_view(protocol) == "COOPERATIVE";
}

void GroupSource::on_rebalance(rd_kafka_t* /*handle*/, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                               void* opaque) {
  auto& self = *static_cast<GroupSource*>(Client::of(opaque).hooks());
  const std::vector<Partition> partitions = from_list(list);
  if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS && !self.closing_) {
    self.assigned(partitions);
  } else {
    self.taken_away(partitions);
  }
}

/// What the library has been given; where to begin is not known yet.
void GroupSource::assigned(const std::vector<Partition>& partitions) {
  metrics_.assigned.add(partitions.size());
  context_.log.info("kafka: partitions come", {{"partitions", std::to_string(partitions.size())}});
  new_ = partitions;
  asking_beginnings_ = std::make_unique<Inquiry<std::vector<Beginning>>>(
      [asking = asking(), partitions](StopSignal& stop) { return ask_beginnings(asking, partitions, stop); }, waker_);
}

/// The last moment in which their positions can be stored: rulings 12.
void GroupSource::taken_away(const std::vector<Partition>& partitions) {
  const bool lost = rd_kafka_assignment_lost(client_->get()) != 0;
  (lost ? metrics_.lost : metrics_.revoked).add(partitions.size());
  if (!closing_) {
    context_.log.info(
        lost ? "kafka: partitions are lost: the group went on without this process" : "kafka: partitions go",
        {{"partitions", std::to_string(partitions.size())}});
  }
  in_force_ = false;
  // The engine has committed what it wants to be committed; what it withheld stays so.
  if (closing_) return unassign(partitions);
  const std::vector<LaneId> lanes = live(partitions);
  std::shared_ptr<DrainBarrier> barrier;
  if (!lanes.empty() && context_.begin_revocation) barrier = context_.begin_revocation(lanes);
  if (!lost) {
    if (barrier) store_->settle(barrier->wait());
    const auto stored = store_->flush_by(context_.clock->now() + kLastStore);
    if (!stored) {
      context_.log.warn(
          "kafka: the last positions of revoked partitions could not be stored; who has them next reads "
          "again what was settled since",
          {{"error", stored.error().describe()}});
    }
  }
  unassign(partitions);
  if (!lanes.empty()) events_.emplace_back(LanesRevoked{lanes, std::move(barrier)});
}

void GroupSource::unassign(const std::vector<Partition>& partitions) {
  asking_beginnings_.reset();
  found_.reset();
  if (incremental()) {
    // What was given and is not read yet was never told to the library.
    std::vector<Partition> told;
    std::ranges::copy_if(partitions, std::back_inserter(told), [&](const auto& one) { return held_.contains(one); });
    const ErrorHandle failed(rd_kafka_incremental_unassign(client_->get(), to_list(told).get()));
    if (failed) failed_ = error_of(rd_kafka_error_code(failed.get()), "giving partitions back");
  } else if (const auto code = rd_kafka_assign(client_->get(), nullptr); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    failed_ = error_of(code, "giving partitions back");
  }
  new_.reset();
  for (const Partition& one : partitions) {
    const auto found = held_.find(one);
    if (found == held_.end()) continue;
    store_->disown(found->second.id);
    gauges_.forget(one.topic, one.number);
    held_.erase(found);
  }
}

/// The library waits for an answer to what it has given; goes on as it is.
void GroupSource::take_nothing_new() {
  if (incremental()) {
    const ErrorHandle failed(rd_kafka_incremental_assign(client_->get(), new_list(0).get()));
    if (failed) failed_ = error_of(rd_kafka_error_code(failed.get()), "keeping partitions");
  } else if (const auto code = rd_kafka_assign(client_->get(), new_list(0).get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    failed_ = error_of(code, "keeping partitions");
  }
  found_.reset();
  new_.reset();
  in_force_ = true;
}

std::vector<LaneId> GroupSource::live(const std::vector<Partition>& partitions) const {
  std::vector<LaneId> lanes;
  for (const Partition& one : partitions) {
    const auto found = held_.find(one);
    if (found != held_.end() && found->second.progress) lanes.push_back(found->second.lane);
  }
  return lanes;
}

std::vector<LaneId> GroupSource::live() const {
  std::vector<LaneId> lanes;
  for (const auto& [partition, held] : held_) {
    if (held.progress) lanes.push_back(held.lane);
  }
  return lanes;
}

/// Where new partitions begin is known: those that are read already are drained first, since an assignment is whole.
Result<void> GroupSource::regroup() {
  if (!found_ || !events_.empty()) return {};
  const bool nothing_new = found_->empty() && incremental();
  if (nothing_new && assigned_once_) {
    take_nothing_new();
    return {};
  }
  if (const std::vector<LaneId> lanes = live(); !lanes.empty()) {
    events_.emplace_back(LanesRevoked{lanes, nullptr});
    return {};
  }
  return read(*std::exchange(found_, std::nullopt));
}

/// No lane is left: all partitions, the new ones and those that stay, get one.
Result<void> GroupSource::read(std::vector<Beginning> beginnings) {
  std::map<Partition, Watermark> at;
  for (const auto& [partition, held] : held_) {
    const Watermark from = store_->settled(held.id).value_or(Watermark(0));
    MILLRACE_TRY(go_back_to(partition, from));
    at[partition] = from;
  }
  const ListHandle list = new_list(beginnings.size());
  for (Beginning& one : beginnings) {
    const auto id = numbers_.id_of(one.partition);
    if (!id) {
      return fail(Error::fatal(ErrorCode::limit, fmt::format("kafka: {} cannot be numbered: a topic may have {} "
                                                             "partitions",
                                                             to_string(one.partition), kMostPartitions)));
    }
    // The queue is cut off from the common one before anything comes into it.
    const QueueHandle queue(
        rd_kafka_queue_get_partition(client_->get(), one.partition.topic.c_str(), one.partition.number));
    rd_kafka_queue_forward(queue.get(), nullptr);
    rd_kafka_topic_partition_list_add(list.get(), one.partition.topic.c_str(), one.partition.number)->offset =
        one.at.value();
    store_->own(*id, {one.partition, one.at, one.mark});
    at[one.partition] = one.at;
    held_[one.partition] = Held{*id, {}, one.mark, nullptr};
  }
  if (incremental()) {
    const ErrorHandle failed(rd_kafka_incremental_assign(client_->get(), list.get()));
    if (failed) return fail(error_of(rd_kafka_error_code(failed.get()), "taking partitions"));
  } else if (const auto code = rd_kafka_assign(client_->get(), list.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return fail(error_of(code, "taking partitions"));
  }
  new_.reset();
  LanesAssigned all;
  for (auto& [partition, held] : held_) all.lanes.push_back(make_lane(partition, held, at[partition]));
  assigned_once_ = in_force_ = true;
  events_.emplace_back(std::move(all));
  return {};
}

/// A lane that was drained whole goes on where it was; what it had fetched and not settled is fetched again.
Result<void> GroupSource::go_back_to(const Partition& partition, Watermark at) {
  const Held& held = held_.at(partition);
  if (!held.last_progress || held.last_progress->next.load(memory_order_relaxed) == at.value()) return {};
  const ListHandle list = to_list({partition});
  list->elems[0].offset = at.value();
  const ErrorHandle failed(rd_kafka_seek_partitions(client_->get(), list.get(), 0));
  if (failed) return fail(error_of(rd_kafka_error_code(failed.get()), "going back in " + to_string(partition)));
  return {};
}

std::unique_ptr<SourceLane> GroupSource::make_lane(const Partition& partition, Held& held, Watermark at) {
  held.lane = LaneId(next_lane_++);
  held.progress = std::make_shared<LaneProgress>();
  auto origin = std::make_shared<Origin>();
  origin->stream = context_.pipeline;
  origin->topic = partition.topic;
  origin->partition =
      partition_of_topic(options_.topics, numbers_.topic_of(held.id), static_cast<std::uint32_t>(partition.number));
  origin->lineage = fmt::format("{}/{}/{}", cluster_->id, partition.topic, held.mark);
  KafkaLane::Setup setup{.client = client_,
                         .id = held.lane,
                         .partition_id = held.id,
                         .partition = partition,
                         .begin = at,
                         .on_position_lost = options_.on_position_lost,
                         .acks = context_.acks,
                         .origin = std::move(origin),
                         .progress = held.progress,
                         .control = waker_,
                         .metrics = metrics_,
                         .log = context_.log};
  if (options_.bounded) {
    const auto end = cluster_->ends.find(partition);
    // A partition that came into being after the start holds nothing that was there at the start.
    setup.end = end == cluster_->ends.end() ? at : end->second;
  }
  return std::make_unique<KafkaLane>(std::move(setup));
}

/// What is assigned here is read.
bool GroupSource::own_are_read() const {
  if (!in_force_ || new_ || found_ || !events_.empty()) return false;
  return std::ranges::all_of(held_, [](const auto& one) {
    return one.second.progress && one.second.progress->exhausted.load(memory_order_acquire);
  });
}

/// Everything that there was at the start is read: by this process, or by other members, whose positions say so. A
/// partition may come here as long as they do not.
bool GroupSource::at_end() {
  if (!own_are_read()) {
    asking_rest_.reset();
    return false;
  }
  std::vector<Partition> others;
  for (const auto& [partition, end] : cluster_->ends) {
    if (!held_.contains(partition)) others.push_back(partition);
  }
  if (others.empty()) return true;
  if (asking_rest_) {
    const auto answer = asking_rest_->take();
    if (!answer) return false;
    asking_rest_.reset();
    if (*answer && **answer) return true;
    ask_rest_at_ = context_.clock->now() + kAskRestEvery;
    return false;
  }
  if (context_.clock->now() < ask_rest_at_) return false;
  asking_rest_ = std::make_unique<Inquiry<bool>>(
      [asking = asking(), others, ends = cluster_->ends](StopSignal&) { return ask_if_stored(asking, others, ends); },
      waker_);
  return false;
}

Result<void> GroupSource::commit(std::span<const PartitionWatermark> watermarks) {
  store_->settle(watermarks);
  store_->send();
  if (const auto trouble = store_->trouble()) return fail(*trouble);
  return {};
}

Result<void> GroupSource::flush_commits_by(SteadyTime deadline) {
  return store_ ? store_->flush_by(deadline) : Result<void>();
}

void GroupSource::revoked(std::span<const LaneId> lanes) {
  for (auto& [partition, held] : held_) {
    if (!held.progress || std::ranges::find(lanes, held.lane) == lanes.end()) continue;
    held.last_progress = std::exchange(held.progress, nullptr);
  }
}

/// Says goodbye to the group, so that others need not wait for the session's end.
void GroupSource::close_by(SteadyTime deadline) {
  if (!client_ || std::exchange(closing_, true)) return;
  asking_rest_.reset();
  asking_beginnings_.reset();
  asking_cluster_.reset();
  if (new_) take_nothing_new();
  const QueueHandle last(rd_kafka_queue_new(client_->get()));
  const ErrorHandle failed(rd_kafka_consumer_close_queue(client_->get(), last.get()));
  if (failed) return;
  while (rd_kafka_consumer_closed(client_->get()) == 0 && context_.clock->now() < deadline)
    rd_kafka_queue_poll_callback(last.get(), 20);
}

/// What the library has heard with its fetches: nobody is asked for it.
void GroupSource::post_positions() {
  const SteadyTime now = context_.clock->now();
  if (now < posted_ + kPostEvery) return;
  posted_ = now;
  for (const auto& [partition, held] : held_) {
    StreamPositions at;
    std::int64_t first = RD_KAFKA_OFFSET_INVALID;
    const auto code =
        rd_kafka_get_watermark_offsets(client_->get(), partition.topic.c_str(), partition.number, &first, &at.end);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) at.end = -1;
    const auto& lane = held.progress ? held.progress : held.last_progress;
    if (lane) at.fetched = lane->next.load(memory_order_relaxed);
    if (const auto settled = store_->settled(held.id)) at.durable = settled->value();
    if (const auto stored = store_->stored(held.id)) at.committed = stored->value();
    gauges_.set(partition.topic, partition.number, at);
  }
  lag_.store(gauges_.lag(), memory_order_relaxed);
}

SourceProgress GroupSource::progress() const {
  SourceProgress progress;
  progress.phase = "reading";
  return progress;
}

std::string GroupSource::committed_summary() const {
  return fmt::format("positions of group '{}', kept by the brokers", options_.group);
}

}  // namespace millrace::kafka
