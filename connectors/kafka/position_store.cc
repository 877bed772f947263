// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/position_store.h"

#include <fmt/format.h>

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
// When a position that is refused is tried again by itself.
constexpr Duration kRefusedAgain = std::chrono::seconds(5);
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
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return code;
  for (const auto& one : entries(list)) {
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
  rd_kafka_queue_poll_callback(answers.get(), kAskMillis);
  if (!answer) return fail(error_of(RD_KAFKA_RESP_ERR__TIMED_OUT, kStoring));
  if (says_not_ours(*answer)) {
    return fail(Error::retryable(ErrorCode::fenced, error_of(*answer, kStoring).message()));
  }
  if (*answer != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(*answer, kStoring));
  return {};
}

Error group_in_use(std::string_view group) {
  return Error::retryable(ErrorCode::unavailable,
                          fmt::format("kafka: the group '{}' has members, and takes no positions from others while "
                                      "they are alive; `partitions` makes this run no member: stop them, or give this "
                                      "pipeline a group of its own",
                                      group));
}

PositionStore::PositionStore(Setup setup)
    : setup_(std::move(setup)), backoff_(kTries, *setup_.random), answers_(rd_kafka_queue_new(setup_.client->get())) {
  Client::wake_on(answers_.get(), &setup_.control);
}

PositionStore::~PositionStore() { Client::wake_on(answers_.get(), nullptr); }

void PositionStore::disown(PartitionId id) {
  ledger_.disown(id);
  if (anything_due()) return;
  // What failed was of partitions that are others' by now.
  error_.reset();
  not_before_ = SteadyTime{};
  backoff_.reset();
}

void PositionStore::send() {
  put_off_ = under_way_ || setup_.traffic->joining() || setup_.clock->now() < not_before_;
  if (put_off_) return;
  const std::vector<StoredPosition> due = ledger_.due(setup_.clock->now());
  if (due.empty()) return;
  const ListHandle list = list_of(due);
  const auto sent = rd_kafka_commit_queue(setup_.client->get(), list.get(), answers_.get(), &on_stored, this);
  if (sent != RD_KAFKA_RESP_ERR_NO_ERROR) return settle_request(sent);
  under_way_ = true;
}

void PositionStore::on_stored(rd_kafka_t* /*handle*/, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                              void* opaque) {
  static_cast<PositionStore*>(opaque)->take(code, list);
}

/// What is wrong with one partition is its own: the others' positions are stored, and go on.
void PositionStore::take(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list) {
  under_way_ = false;
  rd_kafka_resp_err_t result = RD_KAFKA_RESP_ERR_NO_ERROR;
  bool told = code == RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const auto& one : entries(list)) {
    const Partition partition{one.topic, one.partition};
    if (says_of_one_partition(one.err)) {
      refuse(partition, one.err);
      told |= code == one.err;
    } else if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      result = one.err;
    } else if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ledger_.stored(partition, Watermark(one.offset));
    }
  }
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR && result == code) setup_.metrics.stores_ok.add();
  settle_request(told ? result : code);
}

void PositionStore::refuse(const Partition& partition, rd_kafka_resp_err_t code) {
  setup_.metrics.stores_failed.add();
  Error error = error_of(code, fmt::format("storing the position of {}", to_string(partition)));
  const std::string said = error.describe();
  const bool first = ledger_.refused(partition, std::move(error), setup_.clock->now() + kRefusedAgain);
  setup_.log.log(first ? LogLevel::warn : LogLevel::debug,
                 "kafka: the position of a partition is refused; the others are stored, and it is tried again",
                 {{"error", said}});
}

void PositionStore::settle_request(rd_kafka_resp_err_t result) {
  if (result == RD_KAFKA_RESP_ERR_NO_ERROR) {
    backoff_.reset();
    error_.reset();
    not_before_ = SteadyTime{};
    return;
  }
  setup_.metrics.stores_failed.add();
  const bool outside = says_not_ours(result) && !setup_.outside_of.empty();
  error_ = outside ? group_in_use(setup_.outside_of) : error_of(result, kStoring);
  not_ours_ = says_not_ours(result) && !outside;
  not_before_ = setup_.clock->now() + backoff_.next();
  if (error_->is_retryable())
    setup_.log.warn("kafka: positions could not be stored; it is tried again", {{"error", error_->describe()}});
}

Result<void> PositionStore::serve() {
  rd_kafka_queue_poll_callback(answers_.get(), 0);
  if (error_ && !error_->is_retryable()) return fail(*error_);
  if (put_off_ || error_ || ledger_.refusal()) send();
  return {};
}

Result<void> PositionStore::flush_by(SteadyTime deadline) {
  not_before_ = SteadyTime{};
  error_.reset();
  ledger_.try_refused();
  while (under_way_ || anything_due()) {
    send();
    if (setup_.clock->now() >= deadline) {
      return fail(error_ ? *error_ : error_of(RD_KAFKA_RESP_ERR__TIMED_OUT, kStoring));
    }
    rd_kafka_queue_poll_callback(answers_.get(), kFlushStepMillis);
    if (error_ && (!error_->is_retryable() || not_ours_)) return fail(*error_);
  }
  return {};
}

std::optional<Error> PositionStore::trouble() const { return anything_due() ? error_ : std::nullopt; }

}  // namespace millrace::kafka
