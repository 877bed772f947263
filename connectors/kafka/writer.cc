// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"

namespace millrace::kafka {
namespace {

// How often a writer that waits looks whether it is to give up.
constexpr int kStepMillis = 100;

bool too_large(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

/// Milliseconds as the library takes them: 0 would be the time of sending to it.
std::int64_t millis_of(UnixMicros timestamp) { return std::max<std::int64_t>(timestamp / 1000, 1); }

rd_kafka_headers_t* headers_of(const encode::FramedRecord& record) {
  if (record.header_count == 0) return nullptr;
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(record.header_count);
  encode::FramedHeaders all(record);
  for (Header header; all.next(header);) {
    rd_kafka_header_add(headers, header.name.data(), static_cast<ssize_t>(header.name.size()), header.value.data(),
                        static_cast<ssize_t>(header.value.size()));
  }
  return headers;
}

}  // namespace

TopicWriter::~TopicWriter() { disconnect(); }

Result<std::unique_ptr<TopicWriter>> TopicWriter::make(Setup setup) {
  std::unique_ptr<TopicWriter> writer(new TopicWriter(std::move(setup)));
  MILLRACE_TRY(writer->connect());
  return writer;
}

Result<void> TopicWriter::connect() {
  disconnect();
  MILLRACE_ASSIGN(ConfHandle conf, sink_conf(setup_.options, setup_.pipeline));
  rd_kafka_conf_set_dr_msg_cb(conf.get(), &on_report);
  MILLRACE_ASSIGN(client_, Client::make(RD_KAFKA_PRODUCER, std::move(conf), setup_.log, nullptr));
  topic_.reset(rd_kafka_topic_new(client_->get(), setup_.options.topic.c_str(), nullptr));
  if (topic_) return {};
  const auto code = rd_kafka_last_error();
  disconnect();
  return fail(error_of(code, "preparing to write", {}, Role::sink));
}

/// What the client had of the batch is not reported any more.
void TopicWriter::disconnect() {
  topic_.reset();
  client_.reset();
  under_way_ = 0;
  for (Sent& one : sent_) {
    if (one.state == Sent::State::under_way) one.state = Sent::State::waiting;
  }
}

rd_kafka_resp_err_t TopicWriter::fatal() const { return rd_kafka_fatal_error(client_->get(), nullptr, 0); }

Result<Receipt> TopicWriter::write(SealedBatch& batch) {
  // A producer that has lost its place among its own messages cannot go on; another one can. So it is with one that
  // has messages of a batch that was given up.
  const bool another = client_ == nullptr || fatal() != RD_KAFKA_RESP_ERR_NO_ERROR;
  if (another || (token_ != batch.token && under_way_ != 0)) {
    // The first one was made of the same settings: what is missing now may come back.
    if (auto made = connect(); !made) return fail(std::move(made).error().as(ErrorClass::retryable));
  }
  MILLRACE_ASSIGN(const std::string_view body, batch.body());
  if (token_ == batch.token) {
    begin_again();
  } else {
    MILLRACE_TRY(begin(batch, body));
  }
  const SteadyTime until = setup_.clock->now() + setup_.options.write_timeout;
  send_waiting(body, until, false);
  wait_for_reports(until);
  // A set of records that is too large is refused whole. One by one, only those are that are too large themselves.
  if (several_are_too_large()) {
    begin_again();
    send_waiting(body, until, true);
  }
  tell_counts();
  const auto written = [](const Sent& one) { return one.state == Sent::State::acknowledged; };
  if (!std::ranges::all_of(sent_, written)) return fail(refused());
  token_.reset();
  client_->clear_trouble();
  return Receipt{fmt::format("kafka topic {}", setup_.options.topic), bytes_};
}

/// INV-1: a chunk that is read as fewer records than it holds would be acknowledged without the others. One dead letter
/// may be of many records: a batch that another sink gave up.
Result<void> TopicWriter::begin(const SealedBatch& batch, std::string_view body) {
  token_.reset();
  sent_.clear();
  bytes_ = 0;
  encode::FramedReader reader(body);
  for (encode::FramedRecord record; reader.next(record);) {
    // An empty key is none to crc32.
    const bool keyed = record.has_key && (!record.key.empty() || setup_.options.partitioner != KafkaPartitioner::crc32);
    sent_.push_back({.writer = this, .offset = record.offset.value(), .keyed = keyed});
    bytes_ += record.size;
  }
  const std::size_t found = sent_.size();
  const bool letters = batch.named_by_content && found != 0 && found < batch.chunk.records;
  if (!reader.at_end() || (found != batch.chunk.records && !letters)) {
    sent_.clear();
    return fail(Error::fatal(
        ErrorCode::user_code,
        fmt::format("kafka: a batch of {} records holds {}{}; a chain that ends here writes them by encode::framed()",
                    batch.chunk.records, found, reader.at_end() ? "" : ", and what is none")));
  }
  token_ = batch.token;
  return {};
}

/// Marks what is to be sent again, once everything is reported.
void TopicWriter::begin_again() {
  if (under_way_ != 0) return;
  std::vector<bool> broken;  // by partition
  bool all_broken = false;   // where one goes is not known
  for (Sent& one : sent_) {
    const auto partition = static_cast<std::size_t>(std::max(one.partition, 0));
    if (one.state == Sent::State::acknowledged) {
      if (!all_broken && (partition >= broken.size() || !broken[partition])) continue;
    } else if (one.partition < 0 || !one.keyed) {
      all_broken = true;
    } else {
      if (partition >= broken.size()) broken.resize(partition + 1);
      broken[partition] = true;
    }
    one.state = Sent::State::waiting;
    one.code = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
  }
}

void TopicWriter::send_waiting(std::string_view body, SteadyTime until, bool one_by_one) {
  encode::FramedReader reader(body);
  std::size_t index = 0;
  for (encode::FramedRecord record; reader.next(record); ++index) {
    Sent& sent = sent_[index];
    if (sent.state != Sent::State::waiting) continue;
    if (!send(record, sent, until)) return;  // what lies behind it comes with the next try
    if (!one_by_one) continue;
    wait_for_reports(until);
    const bool gone_wrong = sent.state == Sent::State::refused && !too_large(sent.code);
    if (under_way_ != 0 || gone_wrong || setup_.clock->now() >= until) return;
  }
}

/// False when no more can be handed over.
bool TopicWriter::send(const encode::FramedRecord& record, Sent& sent, SteadyTime until) {
  rd_kafka_headers_t* const headers = headers_of(record);
  std::array<rd_kafka_vu_t, 7> with{};
  std::size_t count = 0;
  const auto add = [&](rd_kafka_vtype_t type) -> auto& {
    with[count].vtype = type;
    return with[count++].u;
  };
  add(RD_KAFKA_VTYPE_RKT).rkt = topic_.get();
  add(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
  add(RD_KAFKA_VTYPE_VALUE).mem = {const_cast<char*>(record.value.data()), record.value.size()};
  add(RD_KAFKA_VTYPE_OPAQUE).ptr = &sent;
  if (record.has_key) add(RD_KAFKA_VTYPE_KEY).mem = {const_cast<char*>(record.key.data()), record.key.size()};
  if (record.timestamp != kNoTimestamp) add(RD_KAFKA_VTYPE_TIMESTAMP).i64 = millis_of(record.timestamp);
  if (headers != nullptr) add(RD_KAFKA_VTYPE_HEADERS).headers = headers;
  for (;;) {
    const ErrorHandle failed(rd_kafka_produceva(client_->get(), with.data(), count));
    if (!failed) {
      sent.state = Sent::State::under_way;
      ++under_way_;
      return true;
    }
    const auto code = rd_kafka_error_code(failed.get());
    const bool full = code == RD_KAFKA_RESP_ERR__QUEUE_FULL;
    // A broker that has just started may not know the topic yet; the library asks again each second.
    const bool unknown = code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
    if ((full || unknown) && !cancelled_.load(memory_order_relaxed) && setup_.clock->now() < until) {
      rd_kafka_poll(client_->get(), kStepMillis);
      continue;
    }
    if (headers != nullptr) rd_kafka_headers_destroy(headers);
    if (full) return false;
    sent.state = Sent::State::refused;
    sent.code = code;
    ++counts_.refused;
    return fatal() == RD_KAFKA_RESP_ERR_NO_ERROR && error_of(code, "", {}, Role::sink).is_record();
  }
}

void TopicWriter::on_report(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* /*opaque*/) {
  Sent& sent = *static_cast<Sent*>(message->_private);
  TopicWriter& self = *sent.writer;
  --self.under_way_;
  if (message->partition >= 0) sent.partition = message->partition;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    sent.state = Sent::State::refused;
    sent.code = message->err;
    ++self.counts_.refused;
    return;
  }
  sent.state = Sent::State::acknowledged;
  ++self.counts_.acknowledged;
  self.counts_.bytes += message->len + message->key_len;
}

/// Ends when the library has reported on all; when the writer is cancelled; and at `until` where the library itself
/// waits without end, or does nothing more.
void TopicWriter::wait_for_reports(SteadyTime until) {
  while (under_way_ != 0 && !cancelled_.load(memory_order_relaxed)) {
    const bool dead = fatal() != RD_KAFKA_RESP_ERR_NO_ERROR;
    if ((dead || stalls()) && setup_.clock->now() >= until) return;
    // The library purges its queue once; what comes back to it later would lie there.
    if (dead) rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_poll(client_->get(), kStepMillis);
  }
}

bool TopicWriter::several_are_too_large() const {
  return under_way_ == 0 && fatal() == RD_KAFKA_RESP_ERR_NO_ERROR && std::ranges::count_if(sent_, [](const Sent& one) {
                                                                       // Without a partition it was not sent, but too
                                                                       // large by itself.
                                                                       return one.state == Sent::State::refused &&
                                                                              one.partition >= 0 && too_large(one.code);
                                                                     }) > 1;
}

void TopicWriter::tell_counts() {
  const Counts counts = std::exchange(counts_, {});
  setup_.metrics.acknowledged.add(counts.acknowledged);
  setup_.metrics.refused.add(counts.refused);
  setup_.metrics.bytes.add(counts.bytes);
}

/// Why the batch is not written: what no retry heals before what one does.
Error TopicWriter::refused() const {
  if (cancelled_.load(memory_order_relaxed))
    return Error::fatal(ErrorCode::cancelled, "kafka: given up before the brokers had acknowledged it");
  char text[512] = "";
  const auto fatal = rd_kafka_fatal_error(client_->get(), text, sizeof text);
  if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
    return error_of(fatal, fmt::format("writing to topic '{}'", setup_.options.topic), text, Role::sink);
  std::optional<Error> why;
  rd_kafka_resp_err_t told = RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const Sent& one : sent_) {
    if (one.state == Sent::State::acknowledged || one.code == told) continue;
    told = one.code;
    Error error =
        error_of(told, fmt::format("writing the record of offset {} to topic '{}'", one.offset, setup_.options.topic),
                 {}, Role::sink);
    const bool ends = !error.is_retryable();
    if (!why || ends) why = std::move(error);
    if (ends) break;
  }
  const std::string trouble = client_->trouble();
  if (why->is_retryable() && !trouble.empty()) why->with("last_heard", trouble);
  return *std::move(why);
}

Result<void> TopicWriter::close(SteadyTime /*deadline*/) {
  disconnect();
  return {};
}

void TopicWriter::cancel() { cancelled_.store(true, memory_order_relaxed); }

}  // namespace millrace::kafka
