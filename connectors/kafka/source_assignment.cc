// SPDX-License-Identifier: Apache-2.0
// The part of GroupSource that is given partitions and gives them back (ADR-0020).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/source.h"

namespace millrace::kafka {

/// Where partitions begin could not be told. When the group has gone on without this process, it is joined again.
Result<void> GroupSource::begin_again(Error error) {
  if (error.code() != ErrorCode::fenced || error.is_fatal()) return fail(std::move(error));
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
    if (found->second.progress) found->second.progress->end();
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
    rd_kafka_topic_partition_list_add(list.get(), one.partition.topic.c_str(), one.partition.number)->offset =
        one.at.value();
    store_->own(*id, {one.partition, one.at, one.mark});
    at[one.partition] = one.at;
    held_[one.partition] = Held{*id, {}, one.mark, queue_of(one.partition), {}, {}};
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

std::shared_ptr<PartitionQueue> GroupSource::queue_of(const Partition& partition) {
  std::shared_ptr<PartitionQueue>& queue = queues_[partition];
  if (queue) {
    queue->cut_off();
  } else {
    queue = std::make_shared<PartitionQueue>(client_, partition);
  }
  return queue;
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
                         .queue = held.queue,
                         .id = held.lane,
                         .partition_id = held.id,
                         .partition = partition,
                         .begin = at,
                         .on_position_lost = options_.on_position_lost,
                         .on_tombstone = options_.on_tombstone,
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

}  // namespace millrace::kafka
