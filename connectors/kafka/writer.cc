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

}  // namespace

TopicWriter::TopicWriter(KafkaSinkOptions options, std::string pipeline, SinkMetrics metrics, Logger log)
    : options_(std::move(options)),
      pipeline_(std::move(pipeline)),
      metrics_(std::move(metrics)),
      log_(std::move(log)) {}

TopicWriter::~TopicWriter() {
  if (client_ == nullptr) return;
  rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  wait_for_reports();
}

Result<std::unique_ptr<Writer>> TopicWriter::make(const KafkaSinkOptions& options, const std::string& pipeline,
                                                  SinkMetrics metrics, Logger log) {
  std::unique_ptr<TopicWriter> writer(new TopicWriter(options, pipeline, std::move(metrics), std::move(log)));
  MILLRACE_TRY(writer->connect());
  return writer;
}

Result<void> TopicWriter::connect() {
  MILLRACE_ASSIGN(ConfHandle conf, sink_conf(options_, pipeline_));
  rd_kafka_conf_set_dr_msg_cb(conf.get(), &on_report);
  MILLRACE_ASSIGN(client_, Client::make(RD_KAFKA_PRODUCER, std::move(conf), log_, nullptr));
  return {};
}

Result<Receipt> TopicWriter::write(SealedBatch& batch) {
  // A producer that has lost its place among its own messages cannot go on; another one can.
  if (rd_kafka_fatal_error(client_->get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) MILLRACE_TRY(connect());
  MILLRACE_ASSIGN(const std::string_view body, batch.body());
  std::size_t first = 0;
  if (token_ == batch.token) {
    const auto failed =
        std::ranges::find_if(sent_, [](const Sent& one) { return one.code != RD_KAFKA_RESP_ERR_NO_ERROR; });
    first = static_cast<std::size_t>(failed - sent_.begin());
  } else {
    token_ = batch.token;
    sent_.assign(batch.chunk.records, Sent{.writer = this});
  }
  send_from(first, body);
  wait_for_reports();
  const auto failed =
      std::ranges::find_if(sent_, [](const Sent& one) { return one.code != RD_KAFKA_RESP_ERR_NO_ERROR; });
  if (failed != sent_.end()) return fail(refused(*failed));
  token_.reset();
  std::uint64_t bytes = 0;
  encode::FramedReader written(body);
  for (encode::FramedRecord record; written.next(record);) bytes += record.size;
  return Receipt{fmt::format("kafka topic {}", options_.topic), bytes};
}

void TopicWriter::send_from(std::size_t first, std::string_view body) {
  for (std::size_t i = first; i < sent_.size(); ++i) sent_[i].code = RD_KAFKA_RESP_ERR__NOENT;
  encode::FramedReader reader(body);
  std::size_t index = 0;
  for (encode::FramedRecord record; reader.next(record) && index < sent_.size(); ++index) {
    if (index < first) continue;
    sent_[index].offset = record.offset.value();
    if (!send(record, sent_[index])) return;  // what lies behind it comes with the next try
  }
}

/// False when it could not be handed over.
bool TopicWriter::send(const encode::FramedRecord& record, Sent& sent) {
  rd_kafka_headers_t* headers = nullptr;
  if (record.header_count != 0) {
    headers = rd_kafka_headers_new(record.header_count);
    encode::FramedHeaders all(record);
    for (Header header; all.next(header);) {
      rd_kafka_header_add(headers, header.name.data(), static_cast<ssize_t>(header.name.size()), header.value.data(),
                          static_cast<ssize_t>(header.value.size()));
    }
  }
  std::array<rd_kafka_vu_t, 6> with{};
  std::size_t count = 0;
  const auto add = [&](rd_kafka_vtype_t type) -> auto& {
    with[count].vtype = type;
    return with[count++].u;
  };
  add(RD_KAFKA_VTYPE_TOPIC).cstr = options_.topic.c_str();
  // No flag to copy: the batch stays until its last report.
  add(RD_KAFKA_VTYPE_VALUE).mem = {const_cast<char*>(record.value.data()), record.value.size()};
  add(RD_KAFKA_VTYPE_OPAQUE).ptr = &sent;
  if (record.has_key) add(RD_KAFKA_VTYPE_KEY).mem = {const_cast<char*>(record.key.data()), record.key.size()};
  if (record.timestamp != kNoTimestamp) add(RD_KAFKA_VTYPE_TIMESTAMP).i64 = record.timestamp / 1000;
  if (headers != nullptr) add(RD_KAFKA_VTYPE_HEADERS).headers = headers;
  for (;;) {
    const ErrorHandle failed(rd_kafka_produceva(client_->get(), with.data(), count));
    if (!failed) {
      ++under_way_;
      return true;
    }
    const auto code = rd_kafka_error_code(failed.get());
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL && !cancelled_.load(memory_order_relaxed)) {
      rd_kafka_poll(client_->get(), kStepMillis);
      continue;
    }
    if (headers != nullptr) rd_kafka_headers_destroy(headers);
    sent.code = code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? RD_KAFKA_RESP_ERR__PURGE_QUEUE : code;
    return false;
  }
}

void TopicWriter::on_report(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* /*opaque*/) {
  Sent& sent = *static_cast<Sent*>(message->_private);
  sent.code = message->err;
  TopicWriter& self = *sent.writer;
  --self.under_way_;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return self.metrics_.refused.add();
  self.metrics_.acknowledged.add();
  self.metrics_.bytes.add(message->len + message->key_len);
}

/// Ends when the library has reported on all, which it does by `write_timeout`, or soon when the writer is cancelled.
void TopicWriter::wait_for_reports() {
  bool purged = false;
  while (under_way_ != 0) {
    if (cancelled_.load(memory_order_relaxed) && !std::exchange(purged, true))
      rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_poll(client_->get(), kStepMillis);
  }
}

Error TopicWriter::refused(const Sent& sent) const {
  if (sent.code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || sent.code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
    return Error::fatal(ErrorCode::cancelled, "kafka: given up before the brokers had acknowledged it");
  auto code = sent.code;
  char text[512] = "";
  if (code == RD_KAFKA_RESP_ERR__FATAL) code = rd_kafka_fatal_error(client_->get(), text, sizeof text);
  const std::string trouble = client_->trouble();
  std::string doing = fmt::format("writing the record of offset {} to topic '{}'", sent.offset, options_.topic);
  Error error = error_of(code, doing, text);
  // A place that this producer has lost among its messages is found by another one.
  if (sent.code == RD_KAFKA_RESP_ERR__FATAL) return std::move(error).as(ErrorClass::retryable);
  if (error.is_retryable() && !trouble.empty()) error.with("last_heard", trouble);
  return error;
}

Result<void> TopicWriter::close(SteadyTime /*deadline*/) { return {}; }

void TopicWriter::cancel() { cancelled_.store(true, memory_order_relaxed); }

}  // namespace millrace::kafka
