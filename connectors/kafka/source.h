// SPDX-License-Identifier: Apache-2.0
// GroupSource: partitions of topics, as the group assigns them or as they are named, each as one lane. The library
// decides which partitions come and go; towards the engine an assignment is always whole (ADR-0020). Belongs to the
// control thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/group_traffic.h"
#include "connectors/kafka/inquiry.h"
#include "connectors/kafka/lane.h"
#include "connectors/kafka/metrics.h"
#include "connectors/kafka/partition_queue.h"
#include "connectors/kafka/partitions.h"
#include "connectors/kafka/position_store.h"
#include "connectors/kafka/questions.h"
#include "millrace/connectors/kafka.h"
#include "millrace/connectors/stream.h"
#include "millrace/source/source.h"

namespace millrace::kafka {

class GroupSource final : public Source {
 public:
  GroupSource(KafkaSourceOptions options, bool per_partition);
  ~GroupSource() override;

  [[nodiscard]] Result<void> open(SourceContext context) override;
  [[nodiscard]] Result<SourceEvent> poll_events(Duration timeout) override;
  [[nodiscard]] Result<void> commit(std::span<const PartitionWatermark> watermarks) override;
  [[nodiscard]] Result<void> flush_commits() override { return flush_commits_by(SteadyTime::max()); }
  [[nodiscard]] Result<void> flush_commits_by(SteadyTime deadline) override;
  void revoked(std::span<const LaneId> lanes) override;
  void close() override { close_by(context_.clock->now() + std::chrono::seconds(5)); }
  void close_by(SteadyTime deadline) override;
  [[nodiscard]] std::string replay_gap() const override { return {}; }
  [[nodiscard]] bool bounded() const override { return options_.bounded; }
  [[nodiscard]] SourceProgress progress() const override;
  [[nodiscard]] std::string committed_summary() const override;

 private:
  /// A partition that the library has been told to read.
  struct Held {
    PartitionId id;
    LaneId lane;  ///< meaningless without `progress`
    std::string mark;
    std::shared_ptr<PartitionQueue> queue;
    std::shared_ptr<LaneProgress> progress;       ///< of its lane; null when there is none now
    std::shared_ptr<LaneProgress> last_progress;  ///< of the lane that it had before
  };

  static void on_rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list,
                           void* opaque);
  [[nodiscard]] Result<ConfHandle> configure() const;
  Result<void> serve();
  Result<void> serve_library();
  Result<void> begin(Cluster cluster);
  void assigned(const std::vector<Partition>& partitions);
  void taken_away(const std::vector<Partition>& partitions);
  void unassign(const std::vector<Partition>& partitions);
  void take_nothing_new();
  Result<void> regroup();
  Result<void> read(std::vector<Beginning> beginnings);
  Result<void> go_back_to(const Partition& partition, Watermark at);
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane(const Partition& partition, Held& held, Watermark at);
  [[nodiscard]] std::shared_ptr<PartitionQueue> queue_of(const Partition& partition);
  [[nodiscard]] std::vector<LaneId> live(const std::vector<Partition>& partitions) const;
  [[nodiscard]] std::vector<LaneId> live() const;
  [[nodiscard]] bool incremental() const;
  [[nodiscard]] bool own_are_read() const;
  [[nodiscard]] Result<bool> at_end();
  [[nodiscard]] Result<bool> others_are_read(Result<std::vector<Partition>> unread);
  Result<void> begin_again(Error error);
  [[nodiscard]] Asking asking() const;
  void post_positions();

  const KafkaSourceOptions options_;
  const PartitionNumbers numbers_;
  const bool per_partition_;
  SourceContext context_;
  Metrics metrics_;
  StreamGauges gauges_;
  SteadyTime posted_{};
  std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();  // for a poll_events with a timeout
  Waker waker_;
  /// Outlives the client, which lanes may keep alive.
  const std::shared_ptr<GroupTraffic> traffic_ = std::make_shared<GroupTraffic>();
  std::shared_ptr<Client> client_;
  QueueHandle queue_;
  std::unique_ptr<PositionStore> store_;

  std::optional<Cluster> cluster_;
  std::map<Partition, Held> held_;
  std::map<Partition, std::shared_ptr<PartitionQueue>> queues_;  ///< of all that were ever held
  std::deque<SourceEvent> events_;
  std::optional<Error> failed_;                // in a callback
  std::optional<std::vector<Partition>> new_;  // given, and not read yet: their beginnings are asked for
  std::optional<std::vector<Beginning>> found_;
  std::uint32_t next_lane_ = 0;
  bool assigned_once_ = false;
  bool in_force_ = false;  ///< an assignment is: nothing is taken away that was not given again
  bool revoking_ = false;  ///< the engine drains lanes that go, and goes on
  SteadyTime ask_rest_at_{};
  bool told_waiting_ = false;
  bool told_rest_failed_ = false;
  bool finished_ = false;
  bool closing_ = false;
  Atomic<std::int64_t> lag_{0};

  std::unique_ptr<Inquiry<Cluster>> asking_cluster_;
  std::unique_ptr<Inquiry<std::vector<Partition>>> asking_rest_;
  std::unique_ptr<Inquiry<std::vector<Beginning>>> asking_beginnings_;  // last: their threads use the client
};

}  // namespace millrace::kafka
