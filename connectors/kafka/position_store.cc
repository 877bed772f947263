// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/position_store.h"

#include <algorithm>
#include <span>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/inquiry.h"

namespace millrace::kafka {
namespace {

constexpr BackoffOptions kTries{std::chrono::milliseconds(50), std::chrono::seconds(2), 2.0};
// How often a flush looks whether it may send again.
constexpr int kFlushStepMillis = 20;
constexpr std::string_view kStoring = "storing positions of the group";

ListHandle list_of(std::span<const StoredPosition> positions) {
  ListHandle list = new_list(positions.size());
  for (const StoredPosition& one : positions) {
    rd_kafka_topic_partition_t* const entry =
        rd_kafka_topic_partition_list_add(list.get(), one.partition.topic.c_str(), one.partition.number);
    entry->offset = one.at.value();
    if (one.mark.empty()) continue;
    entry->metadata_size = one.mark.size();
    entry->metadata = rd_kafka_mem_malloc(nullptr, one.mark.size());
    std::ranges::copy(one.mark, static_cast<char*>(entry->metadata));
  }
  return list;
}

/// The request's own error, or the first of a partition.
rd_kafka_resp_err_t worst(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR || list == nullptr) return code;
  for (const auto& one : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) return one.err;
  }
  return code;
}

}  // namespace

Result<void> store_now(Client& client, const std::vector<StoredPosition>& positions) {
  const ListHandle list = list_of(positions);
  const QueueHandle answers(rd_kafka_queue_new(client.get()));
  std::optional<rd_kafka_resp_err_t> answer;
  const auto sent = rd_kafka_commit_queue(
      client.get(), list.get(), answers.get(),
      [](rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* of, void* opaque) {
        *static_cast<std::optional<rd_kafka_resp_err_t>*>(opaque) = worst(code, of);
      },
      &answer);
  if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(sent, kStoring));
  rd_kafka_queue_poll_callback(answers.get(), kStepMillis);
  if (!answer) return fail(error_of(RD_KAFKA_RESP_ERR__TIMED_OUT, kStoring));
  if (says_not_ours(*answer)) {
    return fail(Error::retryable(ErrorCode::fenced, error_of(*answer, kStoring).message()));
  }
  if (*answer != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(*answer, kStoring));
  return {};
}

PositionStore::PositionStore(std::shared_ptr<Client> client, const GroupTraffic& traffic, Metrics metrics, Clock& clock,
                             Random& random, Logger log, Waker control)
    : client_(std::move(client)),
      traffic_(&traffic),
      metrics_(std::move(metrics)),
      clock_(&clock),
      log_(std::move(log)),
      control_(std::move(control)),
      backoff_(kTries, random),
      answers_(rd_kafka_queue_new(client_->get())) {
  Client::wake_on(answers_.get(), &control_);
}

PositionStore::~PositionStore() { Client::wake_on(answers_.get(), nullptr); }

void PositionStore::own(PartitionId id, StoredPosition position) {
  const Watermark at = position.at;
  entries_.insert_or_assign(id, Entry{std::move(position), at});
}

void PositionStore::disown(PartitionId id) { entries_.erase(id); }

void PositionStore::settle(std::span<const PartitionWatermark> watermarks) {
  for (const PartitionWatermark& one : watermarks) {
    const auto found = entries_.find(one.partition);
    if (found != entries_.end()) found->second.settled = std::max(found->second.settled, one.watermark);
  }
}

bool PositionStore::dirty() const {
  return std::ranges::any_of(entries_, [](const auto& one) { return one.second.settled != one.second.position.at; });
}

PositionStore::Entry* PositionStore::find(const Partition& partition) {
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& one) { return one.second.position.partition == partition; });
  return found == entries_.end() ? nullptr : &found->second;
}

void PositionStore::send() {
  put_off_ = under_way_ || traffic_->joining() || clock_->now() < not_before_;
  if (put_off_) return;
  std::vector<StoredPosition> moved;
  for (const auto& [id, entry] : entries_) {
    if (entry.settled != entry.position.at)
      moved.push_back({entry.position.partition, entry.settled, entry.position.mark});
  }
  if (moved.empty()) return;
  const ListHandle list = list_of(moved);
  const auto sent = rd_kafka_commit_queue(client_->get(), list.get(), answers_.get(), &on_stored, this);
  if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return take(sent, nullptr);
  under_way_ = true;
}

void PositionStore::on_stored(rd_kafka_t* /*handle*/, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                              void* opaque) {
  static_cast<PositionStore*>(opaque)->take(code, list);
}

void PositionStore::take(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list) {
  under_way_ = false;
  const rd_kafka_resp_err_t result = worst(code, list);
  if (list != nullptr && code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    for (const auto& one : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
      Entry* const entry = find({one.topic, one.partition});
      if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR || entry == nullptr) continue;
      entry->position.at = Watermark(one.offset);
    }
  }
  if (result == RD_KAFKA_RESP_ERR_NO_ERROR) {
    metrics_.stores_ok.add();
    backoff_.reset();
    error_.reset();
    not_before_ = SteadyTime{};
    return;
  }
  metrics_.stores_failed.add();
  error_ = error_of(result, kStoring);
  not_ours_ = says_not_ours(result);
  not_before_ = clock_->now() + backoff_.next();
  if (error_->is_retryable())
    log_.warn("kafka: positions could not be stored; it is tried again", {{"error", error_->describe()}});
}

Result<void> PositionStore::serve() {
  rd_kafka_queue_poll_callback(answers_.get(), 0);
  if (error_ && !error_->is_retryable()) return fail(*error_);
  if ((put_off_ || error_) && dirty()) send();
  return {};
}

Result<void> PositionStore::flush_by(SteadyTime deadline) {
  not_before_ = SteadyTime{};
  error_.reset();
  while (under_way_ || dirty()) {
    send();
    const SteadyTime now = clock_->now();
    if (now >= deadline) {
      return fail(error_ ? *error_ : error_of(RD_KAFKA_RESP_ERR__TIMED_OUT, kStoring));
    }
    rd_kafka_queue_poll_callback(answers_.get(), kFlushStepMillis);
    if (error_ && (!error_->is_retryable() || not_ours_)) return fail(*error_);
  }
  return {};
}

std::optional<Watermark> PositionStore::settled(PartitionId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.settled);
}

std::optional<Watermark> PositionStore::stored(PartitionId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.position.at);
}

}  // namespace millrace::kafka
