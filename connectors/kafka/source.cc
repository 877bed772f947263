// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"

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
  store_ = std::make_unique<PositionStore>(
      PositionStore::Setup{.client = client_,
                           .traffic = traffic_.get(),
                           .metrics = metrics_,
                           .clock = context_.clock,
                           .random = context_.random,
                           .log = context_.log,
                           .control = waker_,
                           .outside_of = options_.partitions.empty() ? std::string() : options_.group});
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
      revoking_ = std::holds_alternative<LanesRevoked>(events_.front());
      // In place, as gcc 12 takes what a local one was moved from for uninitialised (-O3).
      Result<SourceEvent> event(std::move(events_.front()));
      events_.pop_front();
      return event;
    }
    if (!finished_ && options_.bounded) {
      MILLRACE_ASSIGN(finished_, at_end());
      if (finished_) return Finished{};
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
    const std::string doing = fmt::format("the group '{}'", options_.group);
    Error error =
        code == RD_KAFKA_RESP_ERR__FATAL ? fatal_error_of(client_->get(), doing) : error_of(code, doing, said);
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

/// What is assigned here is read.
bool GroupSource::own_are_read() const {
  if (!in_force_ || new_ || found_ || !events_.empty()) return false;
  return std::ranges::all_of(held_, [](const auto& one) {
    return one.second.progress && one.second.progress->exhausted.load(memory_order_acquire);
  });
}

/// Everything that there was at the start is read: by this process, or by other members, whose positions say so. A
/// partition may come here as long as they do not.
Result<bool> GroupSource::at_end() {
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
    auto answer = asking_rest_->take();
    if (!answer) return false;
    asking_rest_.reset();
    ask_rest_at_ = context_.clock->now() + kAskRestEvery;
    return others_are_read(*std::move(answer));
  }
  if (context_.clock->now() < ask_rest_at_) return false;
  asking_rest_ = std::make_unique<Inquiry<std::vector<Partition>>>(
      [asking = asking(), others, ends = cluster_->ends](StopSignal&) { return ask_unread(asking, others, ends); },
      waker_);
  return false;
}

/// Says once what is waited for, and once what goes wrong meanwhile.
Result<bool> GroupSource::others_are_read(Result<std::vector<Partition>> unread) {
  if (!unread) {
    if (!unread.error().is_retryable()) return fail(std::move(unread).error());
    context_.log.log(std::exchange(told_rest_failed_, true) ? LogLevel::debug : LogLevel::warn,
                     "kafka: how far the other members of the group are could not be asked; it is tried again",
                     {{"error", unread.error().describe()}});
    return false;
  }
  told_rest_failed_ = false;
  if (unread->empty()) return true;
  context_.log.log(std::exchange(told_waiting_, true) ? LogLevel::debug : LogLevel::info,
                   "kafka: what is assigned here is read; the run ends when the other members of the group have stored "
                   "theirs",
                   {{"partitions", std::to_string(unread->size())}, {"first", to_string(unread->front())}});
  return false;
}

/// poll_events may not be called any more: what came of the last request is heard here too.
Result<void> GroupSource::commit(std::span<const PartitionWatermark> watermarks) {
  store_->settle(watermarks);
  MILLRACE_TRY(store_->serve());
  store_->send();
  if (const auto trouble = store_->trouble()) return fail(*trouble);
  return {};
}

Result<void> GroupSource::flush_commits_by(SteadyTime deadline) {
  if (!store_) return {};
  MILLRACE_TRY(store_->flush_by(deadline));
  // A partition that is refused fails the run at its end; until then the others go on.
  const auto refusal = store_->refusal();
  return refusal && !revoking_ ? fail(*refusal) : Result<void>();
}

void GroupSource::revoked(std::span<const LaneId> lanes) {
  revoking_ = false;
  for (auto& [partition, held] : held_) {
    if (!held.progress || std::ranges::find(lanes, held.lane) == lanes.end()) continue;
    held.progress->end();
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
