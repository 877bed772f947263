// SPDX-License-Identifier: Apache-2.0
// TopicWriter: the records of a sealed batch as messages of a topic, each acknowledged by every replica in sync before
// the batch is. The library has copies of its own, so that a write may end before they are acknowledged and the next
// one, of the same batch, waits on. Belongs to one I/O thread; cancel() may come from any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  struct Setup {
    KafkaSinkOptions options;
    std::string pipeline;
    SinkMetrics metrics;
    Logger log;
    Clock* clock = &Clock::real();
  };
  [[nodiscard]] static Result<std::unique_ptr<TopicWriter>> make(Setup setup);
  ~TopicWriter() override;

  /// A retry of a batch waits on for what is under way, and sends again what was refused and, so that none overtakes
  /// another for good, what was acknowledged behind it in its partition.
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch) override;
  [[nodiscard]] Result<void> close(SteadyTime deadline) override;
  void cancel() override;

  /// What writes now; a fatal error of it is answered by another one.
  [[nodiscard]] const Client& client() const noexcept { return *client_; }

 private:
  /// What became of one record.
  struct Sent {
    enum class State { waiting, under_way, acknowledged, refused };
    TopicWriter* writer = nullptr;
    std::int64_t offset = 0;  ///< where it came from
    bool keyed = false;       ///< it goes to the same partition again
    State state = State::waiting;
    std::int32_t partition = -1;                                  ///< where it goes; negative until that is known
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;  ///< why it is not acknowledged
  };

  explicit TopicWriter(Setup setup) : setup_(std::move(setup)) {}
  static void on_report(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque);
  [[nodiscard]] Result<void> connect();
  void disconnect();
  [[nodiscard]] Result<void> begin(const SealedBatch& batch, std::string_view body);
  void begin_again();
  [[nodiscard]] rd_kafka_resp_err_t fatal() const;
  [[nodiscard]] bool stalls() const { return setup_.options.on_write_failure == OnWriteFailure::stall; }
  void send_waiting(std::string_view body, SteadyTime until, bool one_by_one);
  [[nodiscard]] bool send(const encode::FramedRecord& record, Sent& sent, SteadyTime until);
  void wait_for_reports(SteadyTime until);
  [[nodiscard]] bool several_are_too_large() const;
  void tell_counts();
  [[nodiscard]] Error refused() const;

  Setup setup_;
  Atomic<bool> cancelled_{false};
  std::optional<IdempotencyToken> token_;  ///< of the batch that `sent_` is about
  std::vector<Sent> sent_;
  std::uint64_t bytes_ = 0;  ///< of the batch's records
  std::size_t under_way_ = 0;
  /// Since they were last told.
  struct Counts {
    std::uint64_t acknowledged = 0;
    std::uint64_t refused = 0;
    std::uint64_t bytes = 0;
  } counts_;
  std::shared_ptr<Client> client_;
  TopicHandle topic_;  ///< of client_, which outlives it
};

}  // namespace millrace::kafka
