// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "connectors/kafka/failures.h"

namespace millrace::kafka {
namespace {

// A question asked on the lane's thread, once, as the run ends.
constexpr int kLastAskMillis = 1000;

UnixMicros timestamp_of(const rd_kafka_message_t& message) noexcept {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const std::int64_t millis = rd_kafka_message_timestamp(&message, &type);
  constexpr std::int64_t kMost = std::numeric_limits<UnixMicros>::max() / 1000;
  if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || millis < 0 || millis > kMost) return kNoTimestamp;
  return millis * 1000;
}

std::string_view view(const void* bytes, std::size_t size) noexcept {
  return {static_cast<const char*>(bytes), bytes == nullptr ? 0 : size};
}

int millis_of(Duration timeout) noexcept {
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return static_cast<int>(std::clamp<std::int64_t>(millis, 0, 60'000));
}

}  // namespace

KafkaLane::KafkaLane(Setup setup) : setup_(std::move(setup)), next_(setup_.begin.value()) {
  if (at_end()) setup_.progress->exhausted.store(true, memory_order_release);
  setup_.progress->next.store(next_, memory_order_relaxed);
}

KafkaLane::~KafkaLane() {
  setup_.queue->left_by(this);
  let_go();
}

bool KafkaLane::set_waker(Waker waker) {
  setup_.queue->read_by(this, std::move(waker));
  return true;
}

void KafkaLane::let_go() {
  payloads_.clear();
  offsets_.clear();
  timestamps_.clear();
  keys_.clear();
  headers_.clear();
  header_ends_.clear();
  any_key_ = false;
  held_.clear();
}

Result<PollResult> KafkaLane::poll(std::size_t max_records, Duration timeout) {
  let_go();
  const MutexLock lock(setup_.progress->polling);
  if (setup_.progress->over) return Idle{};
  if (at_end()) {
    setup_.progress->exhausted.store(true, memory_order_release);
    setup_.control.wake();
    return Exhausted{};
  }
  const std::int64_t before = next_;
  // The queue wakes its reader when something comes into it while it is empty, so it is left empty before an Idle.
  while (payloads_.empty() && !at_end()) {
    const std::size_t count = fetch(max_records, timeout);
    if (count == 0) break;
    Result<void> taken;
    for (std::size_t i = 0; i < count; ++i) {
      Message message(fetched_[i]);
      if (taken) taken = take(std::move(message));
    }
    if (!taken) return fail(std::move(taken).error());
    timeout = Duration::zero();
  }
  if (next_ == before) return Idle{};
  return batch();
}

/// One by one: librdkafka 2.0 forgets what it has put into a batch (rd_kafka_consume_batch_queue) when an assignment
/// changes meanwhile, counts it as read, and goes on behind it. Of one message that cannot happen.
std::size_t KafkaLane::fetch(std::size_t max_records, Duration timeout) {
  fetched_.resize(std::max<std::size_t>(max_records, 1));
  std::size_t count = 0;
  for (int millis = millis_of(timeout); count < fetched_.size(); millis = 0) {
    rd_kafka_message_t* const message = rd_kafka_consume_queue(setup_.queue->get(), millis);
    if (message == nullptr) break;
    fetched_[count++] = message;
  }
  return count;
}

Result<void> KafkaLane::take(Message message) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return take_event(*message);
  if (message->offset < next_) {
    setup_.metrics.stale.add();
    return {};
  }
  if (setup_.end && message->offset >= setup_.end->value()) {
    pass(setup_.end->value());
    return {};
  }
  if (message->payload == nullptr) {
    setup_.metrics.tombstones.add();
    if (setup_.on_tombstone == KafkaTombstone::skip) {
      pass(message->offset + 1);
      return {};
    }
  }
  append(std::move(message));
  return {};
}

std::string_view KafkaLane::payload_of(const rd_kafka_message_t& message) const noexcept {
  if (message.payload == nullptr && setup_.on_tombstone == KafkaTombstone::json_null) return "null";
  return view(message.payload, message.len);
}

void KafkaLane::append(Message message) {
  offsets_.emplace_back(message->offset);
  payloads_.push_back(payload_of(*message));
  timestamps_.push_back(timestamp_of(*message));
  keys_.push_back(view(message->key, message->key_len));
  any_key_ |= message->key != nullptr;
  append_headers(*message);
  pass(message->offset + 1);
  held_.push_back(std::move(message));
}

void KafkaLane::append_headers(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      headers_.push_back({name, view(value, size)});
    }
  }
  header_ends_.push_back(headers_.size());
}

void KafkaLane::pass(std::int64_t next) noexcept { next_ = std::max(next_, next); }

Result<void> KafkaLane::take_event(const rd_kafka_message_t& event) {
  if (event.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    pass(event.offset);
    warned_ = false;
    return {};
  }
  const char* const text = rd_kafka_message_errstr(&event);
  const std::string_view said = text == nullptr ? "" : text;
  if (event.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || event.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    return fail(position_lost(said));
  }
  Error error = error_of(event.err, "reading " + to_string(setup_.partition), said);
  if (!error.is_retryable()) return fail(std::move(error));
  setup_.log.log(std::exchange(warned_, true) ? LogLevel::debug : LogLevel::warn,
                 "kafka: a partition cannot be read for now", {{"error", error.describe()}});
  return {};
}

/// What was to be read next is not there any more: retention was faster, or the topic is another one by now. The
/// library reads no further by itself, so the run ends, and the next one begins as on_position_lost says.
Error KafkaLane::position_lost(std::string_view said) const {
  std::int64_t first = RD_KAFKA_OFFSET_INVALID;
  std::int64_t end = RD_KAFKA_OFFSET_INVALID;
  std::ignore = rd_kafka_query_watermark_offsets(setup_.client->get(), setup_.partition.topic.c_str(),
                                                 setup_.partition.number, &first, &end, kLastAskMillis);
  const std::string held =
      first < 0 ? "what the partition holds could not be asked"
                : fmt::format("the partition holds {}", to_string(HeldRange{Offset(first), Watermark(end)}));
  const bool goes_on = setup_.on_position_lost != OnPositionLost::fail;
  return Error::fatal(ErrorCode::drift,
                      fmt::format("kafka: the position {} of {} is not there any more: {} ({}); {}", next_,
                                  to_string(setup_.partition), held, said,
                                  goes_on ? "the next run goes on as on_position_lost says"
                                          : "set on_position_lost to earliest or latest to go on there"));
}

PollResult KafkaLane::batch() {
  setup_.progress->next.store(next_, memory_order_relaxed);
  PayloadBatch batch;
  batch.partition = setup_.partition_id;
  batch.ack = setup_.acks.issue(setup_.partition_id, Offset(next_ - 1));
  batch.origin = setup_.origin;
  if (payloads_.empty()) return batch;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < payloads_.size(); ++i) bytes += payloads_[i].size() + keys_[i].size();
  setup_.metrics.fetched.add(payloads_.size());
  setup_.metrics.fetched_bytes.add(bytes);
  batch.payloads = payloads_;
  batch.base_offset = offsets_.front();
  batch.offsets = offsets_;
  batch.timestamps = timestamps_;
  if (any_key_) batch.keys = keys_;
  if (!headers_.empty()) {
    header_spans_.clear();
    std::size_t begin = 0;
    for (const std::size_t end : header_ends_) {
      header_spans_.emplace_back(headers_.data() + begin, end - begin);
      begin = end;
    }
    batch.headers = header_spans_;
  }
  return batch;
}

}  // namespace millrace::kafka
