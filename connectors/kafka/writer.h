// SPDX-License-Identifier: Apache-2.0
// TopicWriter: the records of a sealed batch as messages of a topic, each acknowledged by every replica in sync before
// the batch is. The library borrows the batch's bytes until it has reported on each. Belongs to one I/O thread;
// cancel() may come from any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/sink_metrics.h"
#include "millrace/base/sync.h"
#include "millrace/connectors/kafka.h"
#include "millrace/encode/framed.h"
#include "millrace/sink/writer.h"

namespace millrace::kafka {

class TopicWriter final : public Writer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Writer>> make(const KafkaSinkOptions& options,
                                                            const std::string& pipeline, SinkMetrics metrics,
                                                            Logger log);
  ~TopicWriter() override;

  /// A retry of a batch goes on with the first record that was not acknowledged, and sends those behind it again, so
  /// that none overtakes another for good.
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch) override;
  [[nodiscard]] Result<void> close(SteadyTime deadline) override;
  void cancel() override;

  /// What became of one record.
  struct Sent {
    TopicWriter* writer = nullptr;
    std::int64_t offset = 0;                              ///< where it came from
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__NOENT;  ///< until it is reported
  };

 private:
  TopicWriter(KafkaSinkOptions options, std::string pipeline, SinkMetrics metrics, Logger log);
  static void on_report(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);
  [[nodiscard]] Result<void> connect();
  void send_from(std::size_t first, std::string_view body);
  [[nodiscard]] bool send(const encode::FramedRecord& record, Sent& sent);
  void wait_for_reports();
  [[nodiscard]] Error refused(const Sent& sent) const;

  const KafkaSinkOptions options_;
  const std::string pipeline_;
  SinkMetrics metrics_;
  const Logger log_;
  Atomic<bool> cancelled_{false};
  std::optional<IdempotencyToken> token_;  ///< of the batch that `sent_` is about
  std::vector<Sent> sent_;
  std::size_t under_way_ = 0;
  std::shared_ptr<Client> client_;
};

}  // namespace millrace::kafka
