// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/iggy/sink_options.h"

namespace millrace::iggy_sink {
namespace {

// Partitions that a topic is given later are used after so long.
constexpr Duration kCountEvery = std::chrono::seconds(30);

}  // namespace

TopicWriter::TopicWriter(IggySinkOptions options, std::unique_ptr<iggy::Client> client, Clock* clock, MessageIds ids,
                         SinkMetrics metrics)
    : options_(std::move(options)),
      topic_(topic_name(options_)),
      client_(std::move(client)),
      clock_(clock),
      metrics_(std::move(metrics)),
      outgoing_(options_, std::move(ids)) {}

Result<std::unique_ptr<Writer>> TopicWriter::make(const IggySinkOptions& options, const SinkContext& context,
                                                  MessageIds ids, SinkMetrics metrics) {
  MILLRACE_ASSIGN(std::unique_ptr<iggy::Client> client, iggy::Client::make(client_options(options, context)));
  return std::unique_ptr<Writer>(
      new TopicWriter(options, std::move(client), context.clock, std::move(ids), std::move(metrics)));
}

Result<Receipt> TopicWriter::write(SealedBatch& batch) {
  MILLRACE_ASSIGN(const std::string_view body, batch.body());
  if (token_ != batch.token) MILLRACE_TRY(begin(batch, body));
  Result<void> sent = count_partitions();
  if (sent) sent = send_all(batch.chunk, body);
  metrics_.sessions.add(client_->sessions() - std::exchange(sessions_, client_->sessions()));
  if (!sent && sent.error().code() == ErrorCode::cancelled) {
    return fail(Error::fatal(ErrorCode::cancelled, "iggy: given up before the server had acknowledged it"));
  }
  if (!sent) return fail(std::move(sent).error());
  token_.reset();
  metrics_.left_out.add(left_out_);
  std::uint64_t bytes = 0;
  encode::FramedReader written(body);
  for (encode::FramedRecord record; written.next(record);) bytes += record.size;
  return Receipt{fmt::format("iggy topic {}", text_of(topic_)), bytes};
}

/// INV-1: a chunk that is read as fewer records than it holds would be acknowledged without the others. One dead letter
/// may be of many records: a batch that another sink gave up.
Result<void> TopicWriter::begin(const SealedBatch& batch, std::string_view body) {
  token_.reset();
  done_.clear();
  left_out_ = 0;
  encode::FramedReader reader(body);
  for (encode::FramedRecord record; reader.next(record);) done_.push_back(false);
  const bool letters = batch.named_by_content && !done_.empty() && done_.size() < batch.chunk.records;
  if (!reader.at_end() || (done_.size() != batch.chunk.records && !letters)) {
    return fail(Error::fatal(
        ErrorCode::user_code,
        fmt::format("iggy: a batch of {} records holds {}{}; a chain that ends here writes them by encode::framed()",
                    batch.chunk.records, done_.size(), reader.at_end() ? "" : ", and what is none")));
  }
  token_ = batch.token;
  return {};
}

Result<void> TopicWriter::send_all(const EncodedChunk& chunk, std::string_view body) {
  MILLRACE_TRY(outgoing_.take(chunk, body, partitions_, done_));
  // Those of the rest of a batch were counted by its first try.
  left_out_ = std::max(left_out_, outgoing_.left_out());
  while (const std::optional<Outgoing::Part> part = outgoing_.next()) {
    metrics_.requests.add();
    // The one place where a record becomes acknowledged: behind the server's success.
    const auto answered = client_->send(topic_, part->to, part->messages);
    if (!answered) {
      metrics_.failed.add();
      // The partition may be gone.
      if (answered.error().code() == ErrorCode::not_found) count_again_ = SteadyTime::min();
      return fail(told(answered.error()));
    }
    for (const std::uint32_t record : part->records) done_[record] = true;
    metrics_.acknowledged.add(part->records.size());
    metrics_.bytes.add(part->bytes);
  }
  return {};
}

Result<void> TopicWriter::count_partitions() {
  if (options_.partitioning.kind != IggyPartitioning::Kind::key) return {};
  const SteadyTime now = clock_->now();
  if (client_->connected() && client_->sessions() == counted_in_ && now < count_again_) return {};
  MILLRACE_ASSIGN(const std::optional<iggy::TopicInfo> topic, client_->get_topic(topic_));
  if (!topic || topic->partition_count == 0) {
    return fail(Error::retryable(
        ErrorCode::not_found,
        fmt::format("there is no topic {} (any more), or it has no partitions; make it", text_of(topic_))));
  }
  partitions_ = topic->partition_count;
  counted_in_ = client_->sessions();
  count_again_ = now + kCountEvery;
  return {};
}

// The class of what the client reports is the client's, but for what it says of one record.
Error TopicWriter::told(Error error) const {
  // How large a record may be is settled on its lane: here a whole batch waits.
  if (error.is_retryable() || (!error.is_record() && error.code() != ErrorCode::too_large)) return error;
  return std::move(error)
      .prefixed(fmt::format("topic {} does not take a record that max_record_bytes ({} bytes) lets through; set it to "
                            "what the server takes: ",
                            text_of(topic_), options_.max_record_bytes.bytes))
      .as(ErrorClass::fatal);
}

Result<void> TopicWriter::close(SteadyTime deadline) {
  client_->log_out(deadline);
  return {};
}

}  // namespace millrace::iggy_sink
