// SPDX-License-Identifier: Apache-2.0
// TopicWriter: the records of a sealed batch as messages of a topic, request by request on a connection of its own. The
// batch is done when the server has answered each with a success. Belongs to one I/O thread; cancel() may come from
// any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "connectors/iggy/outgoing.h"
#include "connectors/iggy/sink_metrics.h"
#include "millrace/connectors/iggy.h"
#include "millrace/iggy_client/client.h"
#include "millrace/sink/writer.h"

namespace millrace::iggy_sink {

class TopicWriter final : public Writer {
 public:
  /// Connects nothing yet.
  [[nodiscard]] static Result<std::unique_ptr<Writer>> make(const IggySinkOptions& options, const SinkContext& context,
                                                            MessageIds ids, SinkMetrics metrics);

  /// A retry of a batch sends what has not been acknowledged: of a request whose answer was not heard all of it, under
  /// the same ids.
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch) override;
  [[nodiscard]] Result<void> close(SteadyTime deadline) override;
  void cancel() override { client_->cancel(); }

 private:
  TopicWriter(IggySinkOptions options, std::unique_ptr<iggy::Client> client, Clock* clock, MessageIds ids,
              SinkMetrics metrics);
  [[nodiscard]] Result<void> begin(const SealedBatch& batch, std::string_view body);
  [[nodiscard]] Result<void> send_all(const EncodedChunk& chunk, std::string_view body);
  [[nodiscard]] Result<void> count_partitions();
  [[nodiscard]] Error told(Error error) const;

  const IggySinkOptions options_;
  const iggy::TopicName topic_;
  const std::unique_ptr<iggy::Client> client_;
  Clock* const clock_;
  SinkMetrics metrics_;
  Outgoing outgoing_;                      ///< refers to options_
  std::optional<IdempotencyToken> token_;  ///< of the batch that `done_` is about
  std::vector<bool> done_;                 ///< of each record
  std::uint64_t left_out_ = 0;             ///< headers of that batch
  std::uint64_t sessions_ = 0;             ///< that were counted
  std::uint32_t partitions_ = 0;           ///< as the topic had them at `counted_in_`, until `count_again_`
  std::uint64_t counted_in_ = 0;
  SteadyTime count_again_ = SteadyTime::min();
};

}  // namespace millrace::iggy_sink
