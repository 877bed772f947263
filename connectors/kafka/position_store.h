// SPDX-License-Identifier: Apache-2.0
// PositionStore: the group's positions as the brokers keep them, stored by nobody else. One request at a time is under
// way; what moves meanwhile goes with the next. Belongs to the control thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/group_traffic.h"
#include "connectors/kafka/metrics.h"
#include "connectors/kafka/position_ledger.h"
#include "millrace/base/backoff.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::kafka {

/// Stores and waits for the answer, for half a second. ErrorCode::fenced says that the group takes no position from
/// this process: it is no member, or one of the past. Any thread.
[[nodiscard]] Result<void> store_now(Client& client, const std::vector<StoredPosition>& positions);

/// The same refusal to a process that is no member and means to be none, as its partitions are named.
[[nodiscard]] Error group_in_use(std::string_view group);

class PositionStore {
 public:
  struct Setup {
    std::shared_ptr<Client> client;
    const GroupTraffic* traffic = nullptr;
    Metrics metrics;
    Clock* clock = &Clock::real();
    Random* random = &Random::system();
    Logger log;
    Waker control;
    /// Of a process that is no member, as its partitions are named: which group takes its positions only while it has
    /// no members. Empty: it is a member.
    std::string outside_of;
  };
  explicit PositionStore(Setup setup);
  ~PositionStore();
  PositionStore(const PositionStore&) = delete;
  PositionStore& operator=(const PositionStore&) = delete;

  /// `position.partition` is this run's from now on, and this is what is stored of it.
  void own(PartitionId id, StoredPosition position) { ledger_.own(id, std::move(position)); }
  /// Another's: nothing is stored of it any more.
  void disown(PartitionId id);
  /// What is to be stored; of partitions that are not owned, nothing.
  void settle(std::span<const PartitionWatermark> watermarks) { ledger_.settle(watermarks); }
  /// Sends what is not stored, unless a request is under way, one has just failed, or the group is waited for: serve()
  /// does it then.
  void send();
  /// Takes the answer, and sends again what failed when it is time to. Fails when no retry helps any partition.
  [[nodiscard]] Result<void> serve();
  /// Everything settled is stored on success, but for what is refused, which was tried once more. Fails (retryable) at
  /// `deadline`, or when the group has given the partitions away.
  [[nodiscard]] Result<void> flush_by(SteadyTime deadline);

  /// Why nothing of what is to be stored can be for now; nothing when it can, or nothing is to be stored.
  [[nodiscard]] std::optional<Error> trouble() const;
  /// What is settled, or where the partition began; nothing when it is not owned.
  [[nodiscard]] std::optional<Watermark> settled(PartitionId id) const { return ledger_.settled(id); }
  [[nodiscard]] std::optional<Watermark> stored(PartitionId id) const { return ledger_.stored(id); }
  /// Why the brokers refuse the position of a partition; nothing when they do not.
  [[nodiscard]] std::optional<Error> refusal() const { return ledger_.refusal(); }

 private:
  static void on_stored(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                        void* opaque);
  void take(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* list);
  void refuse(const Partition& partition, rd_kafka_resp_err_t code);
  void settle_request(rd_kafka_resp_err_t result);
  [[nodiscard]] bool anything_due() const { return ledger_.anything_due(setup_.clock->now()); }

  Setup setup_;
  PositionLedger ledger_;
  bool under_way_ = false;
  bool put_off_ = false;        ///< something is to be sent, and was not
  std::optional<Error> error_;  ///< of the latest request, as a whole
  bool not_ours_ = false;       ///< it says that the group has given the partitions away
  SteadyTime not_before_{};     ///< nothing is sent again before
  Backoff backoff_;
  QueueHandle answers_;
};

}  // namespace millrace::kafka
