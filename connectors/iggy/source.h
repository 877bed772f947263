// SPDX-License-Identifier: Apache-2.0
// GroupSource: partitions of topics, as a consumer group gives them or as they are listed, each as one lane. A change
// of what is ours takes all lanes away, and gives the whole of it anew, in a new epoch. Belongs to the control thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "connectors/iggy/desk.h"
#include "connectors/iggy/fetcher.h"
#include "connectors/iggy/lane.h"
#include "connectors/iggy/metrics.h"
#include "connectors/iggy/positions.h"
#include "millrace/connectors/iggy.h"
#include "millrace/connectors/stream.h"
#include "millrace/source/source.h"

namespace millrace::iggy_source {

/// Source::replay_gap: a server that is killed loses its newest messages and gives their offsets to others.
[[nodiscard]] std::string replay_gap(OnPositionLost lost);

class GroupSource final : public Source {
 public:
  GroupSource(IggySourceOptions options, bool per_partition);
  ~GroupSource() override;

  [[nodiscard]] Result<void> open(SourceContext context) override;
  [[nodiscard]] Result<SourceEvent> poll_events(Duration timeout) override;
  [[nodiscard]] Result<void> commit(std::span<const PartitionWatermark> watermarks) override;
  [[nodiscard]] Result<void> flush_commits() override { return flush_commits_by(SteadyTime::max()); }
  [[nodiscard]] Result<void> flush_commits_by(SteadyTime deadline) override;
  void pause(std::span<const LaneId> lanes) override { set_paused(lanes, true); }
  void resume(std::span<const LaneId> lanes) override { set_paused(lanes, false); }
  void revoked(std::span<const LaneId> lanes) override;
  void close() override { close_by(context_.clock->now() + std::chrono::seconds(5)); }
  void close_by(SteadyTime deadline) override;
  [[nodiscard]] std::string replay_gap() const override { return iggy_source::replay_gap(options_.on_position_lost); }
  [[nodiscard]] bool bounded() const override { return options_.bounded; }
  [[nodiscard]] std::string committed_summary() const override;

 private:
  struct Held {
    std::shared_ptr<LaneFeed> feed;
    PartitionId id;
  };
  [[nodiscard]] Result<SourceEvent> serve();
  [[nodiscard]] SourceEvent assign(Beginnings beginnings);
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane(const Beginning& beginning, const std::string& lineage);
  void spread();
  void set_paused(std::span<const LaneId> lanes, bool paused);
  void let_go();
  [[nodiscard]] bool all_read();
  void post_positions();

  const IggySourceOptions options_;
  const bool per_partition_;
  SourceContext context_;
  Metrics metrics_;
  StreamGauges gauges_;
  SteadyTime posted_ = SteadyTime::min();
  const std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();  // for a poll_events with a timeout

  std::map<LaneId, Held> lanes_;
  std::map<PartitionId, std::shared_ptr<LaneFeed>> feeds_;  ///< theirs
  std::uint32_t next_lane_ = 0;
  std::uint64_t held_assignment_ = 0;   ///< whose lanes are live
  std::uint64_t asked_assignment_ = 0;  ///< whose beginnings are asked for
  bool revoking_ = false;
  bool finished_ = false;

  Positions positions_;
  std::unique_ptr<Desk> desk_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;  // last: their threads use what stands above
};

}  // namespace millrace::iggy_source
