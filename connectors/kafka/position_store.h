// SPDX-License-Identifier: Apache-2.0
// PositionStore: the group's positions as the brokers keep them, stored by nobody else. One request at a time is under
// way; what moves meanwhile goes with the next. Belongs to the control thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/group_traffic.h"
#include "connectors/kafka/metrics.h"
#include "connectors/kafka/partitions.h"
#include "millrace/base/backoff.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::kafka {

struct StoredPosition {
  Partition partition;
  Watermark at;
  std::string mark;  ///< goes with it; see Beginning
};

/// Stores and waits for the answer, for half a second. Any thread.
[[nodiscard]] Result<void> store_now(Client& client, const std::vector<StoredPosition>& positions);

class PositionStore {
 public:
  PositionStore(std::shared_ptr<Client> client, const GroupTraffic& traffic, Metrics metrics, Clock& clock,
                Random& random, Logger log, Waker control);
  ~PositionStore();
  PositionStore(const PositionStore&) = delete;
  PositionStore& operator=(const PositionStore&) = delete;

  /// `position.partition` is this run's from now on, and this is what is stored of it.
  void own(PartitionId id, StoredPosition position);
  /// Another's: nothing is stored of it any more.
  void disown(PartitionId id);
  /// What is to be stored; of partitions that are not owned, nothing.
  void settle(std::span<const PartitionWatermark> watermarks);
  /// Sends what is not stored, unless a request is under way, one has just failed, or the group is waited for: serve()
  /// does it then.
  void send();
  /// Takes the answer, and sends again what failed when it is time to. Fails when no retry helps.
  [[nodiscard]] Result<void> serve();
  /// Everything settled is stored on success. Fails (retryable) at `deadline`, or when the group has given the
  /// partitions away.
  [[nodiscard]] Result<void> flush_by(SteadyTime deadline);

  /// What is settled, or where the partition began; nothing when it is not owned.
  /// Why positions cannot be stored for now; nothing when they can.
  [[nodiscard]] const std::optional<Error>& trouble() const noexcept { return error_; }
  [[nodiscard]] std::optional<Watermark> settled(PartitionId id) const;
  [[nodiscard]] std::optional<Watermark> stored(PartitionId id) const;

 private:
  struct Entry {
    StoredPosition position;  ///< as the brokers have it
    Watermark settled;
  };
  static void on_stored(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                        void* opaque);
  void take(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list);
  [[nodiscard]] bool dirty() const;
  [[nodiscard]] Entry* find(const Partition& partition);

  const std::shared_ptr<Client> client_;
  const GroupTraffic* const traffic_;
  Metrics metrics_;
  Clock* const clock_;
  const Logger log_;
  const Waker control_;
  std::map<PartitionId, Entry> entries_;
  bool under_way_ = false;
  bool put_off_ = false;        ///< something is to be sent, and was not
  std::optional<Error> error_;  ///< of the latest request
  bool not_ours_ = false;       ///< it says that the group has given the partitions away
  SteadyTime not_before_{};     ///< nothing is sent again before
  Backoff backoff_;
  QueueHandle answers_;
};

}  // namespace millrace::kafka
