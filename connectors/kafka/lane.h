// SPDX-License-Identifier: Apache-2.0
// KafkaLane: one partition, read from the library's queue of it on the lane's own thread. Payloads, keys and headers
// are views of the library's messages, which are kept until the next poll. Offsets have gaps where a topic is compacted
// or transactions left marks; the end of the partition moves the position over those behind the last record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/metrics.h"
#include "connectors/kafka/partition_queue.h"
#include "connectors/kafka/partitions.h"
#include "millrace/ack/ack_issuer.h"
#include "millrace/base/sync.h"
#include "millrace/connectors/kafka.h"
#include "millrace/record/record_meta.h"
#include "millrace/source/lane.h"

namespace millrace::kafka {

/// What the control thread sees of a lane, and how it ends it.
struct LaneProgress {
  Atomic<std::int64_t> next{0};  ///< the offset it reads next
  Atomic<bool> exhausted{false};
  Mutex polling;  ///< held while records are taken from the queue
  bool over MILLRACE_GUARDED_BY(polling) = false;

  /// Once this has returned the lane takes no record any more, on whatever thread it was left behind: what comes into
  /// the queue is its successor's, and one that another takes is passed over for good.
  void end() {
    const MutexLock lock(polling);
    over = true;
  }
};

class KafkaLane final : public SourceLane {
 public:
  struct Setup {
    std::shared_ptr<Client> client;
    std::shared_ptr<PartitionQueue> queue;
    LaneId id;
    PartitionId partition_id;
    Partition partition;
    Watermark begin;
    std::optional<Watermark> end;  ///< of a bounded source
    OnPositionLost on_position_lost = OnPositionLost::fail;
    KafkaTombstone on_tombstone = KafkaTombstone::empty;
    AckIssuer acks;
    std::shared_ptr<const Origin> origin;
    std::shared_ptr<LaneProgress> progress;
    Waker control;  ///< woken at the lane's end
    Metrics metrics;
    Logger log;
  };
  explicit KafkaLane(Setup setup);
  ~KafkaLane() override;

  [[nodiscard]] LaneId id() const override { return setup_.id; }
  [[nodiscard]] PartitionId partition() const override { return setup_.partition_id; }
  [[nodiscard]] Result<PollResult> poll(std::size_t max_records, Duration timeout) override;
  bool set_waker(Waker waker) override;

 private:
  struct Release {
    void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  };
  using Message = std::unique_ptr<rd_kafka_message_t, Release>;

  void let_go();
  [[nodiscard]] std::size_t fetch(std::size_t max_records, Duration timeout);
  Result<void> take(Message message);
  Result<void> take_event(const rd_kafka_message_t& event);
  [[nodiscard]] std::string_view payload_of(const rd_kafka_message_t& message) const noexcept;
  void append(Message message);
  void append_headers(const rd_kafka_message_t& message);
  PollResult batch();
  void pass(std::int64_t next) noexcept;
  [[nodiscard]] Error position_lost(std::string_view said) const;
  [[nodiscard]] bool at_end() const noexcept { return setup_.end && next_ >= setup_.end->value(); }

  Setup setup_;
  std::int64_t next_;
  bool warned_ = false;

  std::vector<rd_kafka_message_t*> fetched_;
  std::vector<Message> held_;  // what the columns borrow from
  std::vector<std::string_view> payloads_;
  std::vector<Offset> offsets_;
  std::vector<UnixMicros> timestamps_;
  std::vector<std::string_view> keys_;
  std::vector<Header> headers_;
  std::vector<std::size_t> header_ends_;
  std::vector<std::span<const Header>> header_spans_;
  bool any_key_ = false;
};

}  // namespace millrace::kafka
