// SPDX-License-Identifier: Apache-2.0
// ScriptedLane: a lane whose polls are what a test says, for lanes that break rules. And a log that remembers.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/source/source.h"

namespace millrace::testing {

class ScriptedLane final : public SourceLane {
 public:
  /// `polls` counts from 0. `payloads` is memory that lives as long as the lane, to lend from.
  struct Turn {
    std::size_t poll = 0;
    Duration timeout{0};
    AckIssuer& acks;
    std::vector<std::string_view>& payloads;
  };
  using Poll = std::function<Result<PollResult>(Turn turn)>;
  ScriptedLane(LaneId lane, PartitionId partition, AckIssuer acks, Poll poll)
      : lane_(lane), partition_(partition), acks_(std::move(acks)), poll_(std::move(poll)) {}

  LaneId id() const override { return lane_; }
  PartitionId partition() const override { return partition_; }
  Result<PollResult> poll(std::size_t /*max_records*/, Duration timeout) override {
    return poll_({polls_++, timeout, acks_, payloads_});
  }

 private:
  const LaneId lane_;
  const PartitionId partition_;
  AckIssuer acks_;
  Poll poll_;
  std::size_t polls_ = 0;
  std::vector<std::string_view> payloads_;
};

/// Thread-safe.
class RememberingLog final : public LogSink {
 public:
  void write(LogLevel level, std::string_view /*component*/, std::string_view message,
             std::initializer_list<LogField> fields) override {
    const MutexLock lock(mutex_);
    std::string line(message);
    for (const LogField& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    lines_.emplace_back(level, std::move(line));
  }
  [[nodiscard]] std::size_t count(LogLevel level, std::string_view part) const {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        lines_, [&](const auto& line) { return line.first == level && line.second.find(part) != std::string::npos; }));
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::testing
