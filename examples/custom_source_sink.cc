// SPDX-License-Identifier: Apache-2.0
// A source and a sink of one's own: a source that counts to a limit in each of its partitions, and a sink that prints.
// Nothing is registered anywhere; they are handed to the pipeline.
#include <millrace/decode/raw.h>
#include <millrace/encode/encode.h>
#include <millrace/ops/ops.h>
#include <millrace/pipeline/pipeline.h>
#include <millrace/sink/sink.h>
#include <millrace/source/source.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using millrace::fail;
using millrace::Result;

// The data plane: one lane per partition, on a pipeline thread. What a poll returns borrows the lane until the next
// one.
class CounterLane final : public millrace::SourceLane {
 public:
  CounterLane(std::uint32_t number, std::int64_t from, std::int64_t limit, millrace::AckIssuer acks)
      : number_(number), next_(from), limit_(limit), acks_(std::move(acks)) {}

  millrace::LaneId id() const override { return millrace::LaneId(number_); }
  millrace::PartitionId partition() const override { return millrace::PartitionId(number_); }

  Result<millrace::PollResult> poll(std::size_t max_records, millrace::Duration /*timeout*/) override {
    // A source that does not end would wait here for `timeout`, and then say Idle: a lane never spins.
    if (next_ >= limit_) return millrace::Exhausted{};
    const std::int64_t end = std::min(next_ + static_cast<std::int64_t>(max_records), limit_);
    texts_.clear();
    for (std::int64_t n = next_; n < end; ++n) texts_.push_back(std::to_string(number_) + ":" + std::to_string(n));
    views_.assign(texts_.begin(), texts_.end());

    millrace::PayloadBatch batch;
    batch.payloads = views_;
    batch.partition = partition();
    batch.base_offset = millrace::Offset(next_);
    batch.ack = acks_.issue(partition(), millrace::Offset(end - 1));  // one for the batch, for its last record
    next_ = end;
    return batch;
  }

 private:
  const std::uint32_t number_;
  std::int64_t next_;
  const std::int64_t limit_;
  millrace::AckIssuer acks_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

// The control plane, on the thread that calls run().
class CounterSource final : public millrace::Source {
 public:
  CounterSource(std::uint32_t partitions, std::int64_t limit) : partitions_(partitions), limit_(limit) {}

  Result<void> open(millrace::SourceContext context) override {
    context_ = std::move(context);
    return {};
  }
  Result<millrace::SourceEvent> poll_events(millrace::Duration /*timeout*/) override {
    if (handed_out_) return millrace::Finished{};
    handed_out_ = true;
    millrace::LanesAssigned assigned;
    for (std::uint32_t n = 0; n < partitions_; ++n) {
      assigned.lanes.push_back(std::make_unique<CounterLane>(n, 0, limit_, context_.acks));
    }
    return assigned;
  }
  // A real source stores these; each is one past the last record that is durable in every sink.
  Result<void> commit(std::span<const millrace::PartitionWatermark> watermarks) override {
    for (const auto& [partition, watermark] : watermarks) positions_[partition] = watermark;
    return {};
  }
  bool bounded() const override { return true; }
  std::string committed_summary() const override {
    std::string text;
    for (const auto& [partition, watermark] : positions_) {
      text += " partition " + std::to_string(partition.value()) + " at " + std::to_string(watermark.value());
    }
    return text;
  }

 private:
  const std::uint32_t partitions_;
  const std::int64_t limit_;
  millrace::SourceContext context_;
  bool handed_out_ = false;
  std::map<millrace::PartitionId, millrace::Watermark> positions_;
};

// The only part of a sink that touches the outside. Success means durable, so what stdout does not take is an error.
class PrintWriter final : public millrace::Writer {
 public:
  Result<millrace::Receipt> write(millrace::SealedBatch& batch) override {
    const auto bytes = batch.body();
    if (!bytes) return std::unexpected(bytes.error());
    if (std::fwrite(bytes->data(), 1, bytes->size(), stdout) != bytes->size() || std::fflush(stdout) != 0) {
      return fail(millrace::Error::fatal(millrace::ErrorCode::io, "stdout takes no more output"));
    }
    return millrace::Receipt{"stdout", bytes->size()};
  }
};

class PrintSink final : public millrace::Sink {
 public:
  std::string_view type() const override { return "print"; }
  Result<void> open(millrace::SinkContext /*context*/) override { return {}; }
  Result<std::unique_ptr<millrace::Writer>> make_writer() override { return std::make_unique<PrintWriter>(); }
};

bool is_even(std::string_view text) { return (text.back() - '0') % 2 == 0; }

}  // namespace

int main() {
  namespace decode = millrace::decode;
  namespace encode = millrace::encode;
  namespace ops = millrace::ops;

  millrace::Pipeline pipeline;
  const millrace::RunReport report =
      pipeline.sink(std::make_unique<PrintSink>())
          .chain([](const millrace::ChainContext&) { return decode::text() | ops::filter(is_even) | encode::raw(); })
          .run(std::make_unique<CounterSource>(2, 10));

  std::fprintf(stderr, "%s: %llu in, %llu out;%s\n", std::string(millrace::to_string(report.state)).c_str(),
               static_cast<unsigned long long>(report.records_in), static_cast<unsigned long long>(report.records_out),
               report.committed_summary.c_str());
  if (report.error) std::fprintf(stderr, "%s\n", report.error->describe().c_str());
  return report.exit_code();
}
