// SPDX-License-Identifier: Apache-2.0
// What the engine's tests share: a topic, a capturing sink, and a run on a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "line_chain.h"
#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/memory_source.h"

namespace millrace::testing {

inline PartitionId partition(std::uint32_t id) { return PartitionId(id); }
inline LaneId lane(std::uint32_t id) { return LaneId(id); }

/// Counts of a report.
using Reasons = std::map<std::string, std::uint64_t>;

/// A chain that looks into nothing: each payload and a line feed.
inline ChainFactory passing() { return make_config_chain({}, {}); }

/// "p3-17": names partition and offset, so that what came out says where it came from.
inline std::string payload_of(std::uint32_t partition, std::size_t offset) {
  return "p" + std::to_string(partition) + "-" + std::to_string(offset);
}

inline std::shared_ptr<MemoryTopic> filled(std::uint32_t partitions, std::size_t records) {
  auto topic = std::make_shared<MemoryTopic>(partitions);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    for (std::size_t i = 0; i < records; ++i) topic->append(PartitionId(p), payload_of(p, i));
  }
  return topic;
}

inline std::shared_ptr<MemoryTopic> filled_and_ended(std::uint32_t partitions, std::size_t records) {
  auto topic = filled(partitions, records);
  topic->end();
  return topic;
}

/// Every payload of the topic, sorted: what the sinks must hold.
inline std::vector<std::string> everything(std::uint32_t partitions, std::size_t records) {
  std::vector<std::string> all;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    for (std::size_t i = 0; i < records; ++i) all.push_back(payload_of(p, i));
  }
  std::ranges::sort(all);
  return all;
}

inline std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  return lines;
}

inline std::vector<std::string> unique(std::vector<std::string> lines) {
  const std::set<std::string> set(lines.begin(), lines.end());
  return {set.begin(), set.end()};
}

/// INV-1, looked at whenever a commit is made: each record below each watermark is in a batch that was written.
/// Requires chains that write every record.
inline void audit_commits(MemoryTopic& topic, const std::shared_ptr<Capture>& capture) {
  topic.audit([capture](const std::vector<PartitionWatermark>& watermarks) {
    const std::vector<std::string> lines = capture->lines();
    const std::set<std::string> written(lines.begin(), lines.end());
    for (const PartitionWatermark& one : watermarks) {
      for (std::int64_t i = 0; i < one.watermark.value(); ++i) {
        ASSERT_TRUE(written.contains(payload_of(one.partition.value(), static_cast<std::size_t>(i))))
            << "partition " << one.partition.value() << " is committed to " << one.watermark.value() << " without "
            << i;
      }
    }
  });
}

/// Small chunks, quick retries, short drains, so that a test meets many of each.
inline CaptureSinkOptions small_chunks(std::uint64_t records = 10) {
  CaptureSinkOptions options;
  options.policy.max_records = records;
  options.retry.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(4), 2.0};
  return options;
}

/// How long the control loop rests at most: after this much time it has gone round.
inline constexpr Duration kControlPeriod = std::chrono::milliseconds(50);

inline PipelineOptions quick() {
  PipelineOptions options;
  options.checkpoint_interval = std::chrono::milliseconds(100);
  options.drain_timeout = std::chrono::seconds(30);
  return options;
}

/// A run on a thread of its own, so that the test can act on it meanwhile.
class BackgroundRun {
 public:
  BackgroundRun(Pipeline& pipeline, Result<std::unique_ptr<Source>> source)
      : thread_("run",
                [this, &pipeline, source = std::make_shared<Result<std::unique_ptr<Source>>>(std::move(source))] {
                  report_ = pipeline.run(std::move(*source));
                }) {}
  RunReport& join() {
    thread_.join();
    return report_;
  }

 private:
  RunReport report_;
  Thread thread_;
};

/// Waits (in real time) until `condition` holds, for at most a minute; false when it never did.
inline bool eventually(const std::function<bool()>& condition) {
  Mutex mutex;
  CondVar never;
  const SteadyTime deadline = Clock::real().now() + std::chrono::minutes(1);
  while (!condition()) {
    const SteadyTime now = Clock::real().now();
    if (now >= deadline) return false;
    const MutexLock lock(mutex);
    Clock::real().wait_until(never, mutex, now + std::chrono::milliseconds(1));
  }
  return true;
}

inline std::string why(const RunReport& report) {
  return std::string(to_string(report.state)) + (report.error ? ": " + report.error->describe() : "");
}

}  // namespace millrace::testing
