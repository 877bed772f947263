// SPDX-License-Identifier: Apache-2.0
// Progress as a block, a line and JSON, from snapshots made by hand.
#include "cli/progress_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SteadyTime at(Duration since_start) { return SteadyTime(since_start); }

PipelineSnapshot snapshot_of(std::uint64_t records, std::uint64_t bytes) {
  PipelineSnapshot snapshot;
  snapshot.phase = PipelineSnapshot::Phase::running;
  snapshot.records_in = records;
  snapshot.records_out = records - 1;
  snapshot.records_skipped = 1;
  snapshot.payload_bytes = bytes;
  snapshot.source.phase = "reading";
  snapshot.source.objects_total = 24;
  snapshot.source.objects_done = 12;
  snapshot.source.bytes_total = 4U << 20U;
  snapshot.source.bytes_done = bytes / 2;
  return snapshot;
}

TEST(Progress, RatesAreThoseOfTheLastSeconds) {
  ProgressRates rates;
  rates.add(snapshot_of(1, 0), at(seconds(0)));
  EXPECT_EQ(rates.bytes_per_second(), 0);
  EXPECT_FALSE(rates.time_left());
  for (int second = 1; second <= 20; ++second) {
    // A slow first half, then ten times as fast.
    const auto bytes = static_cast<std::uint64_t>(second <= 10 ? second * 1000 : 10'000 + (second - 10) * 10'000);
    rates.add(snapshot_of(1 + bytes / 10, bytes), at(seconds(second)));
  }
  EXPECT_NEAR(rates.bytes_per_second(), 10'000, 1);
  EXPECT_NEAR(rates.records_per_second(), 1'000, 1);
  ASSERT_TRUE(rates.time_left());
  // 4 MiB - 55,000 stored bytes left at 5,000 a second.
  EXPECT_NEAR(std::chrono::duration<double>(*rates.time_left()).count(), (4.0 * 1024 * 1024 - 55'000) / 5'000, 1);
}

TEST(Progress, NoFigureWhereNothingMoves) {
  ProgressRates rates;
  for (int second = 0; second < 10; ++second) rates.add(snapshot_of(5, 100), at(seconds(second)));
  EXPECT_EQ(rates.bytes_per_second(), 0);
  EXPECT_FALSE(rates.time_left());
}

// All is read in the first second; the sink takes 1,000 records a second.
TEST(Progress, ASlowSinkIsFollowedWhenAllIsRead) {
  ProgressRates rates;
  PipelineSnapshot snapshot = snapshot_of(10'001, 8U << 20U);
  for (std::uint64_t second = 1; second <= 8; ++second) {
    snapshot.records_out = 1000 * second;
    snapshot.bytes_written = (1U << 20U) * second;
    rates.add(snapshot, at(seconds(second)));
  }
  EXPECT_EQ(
      progress_block(snapshot, rates, seconds(8), false, false),
      (std::vector<std::string>{"writing   12 of 24 objects, 2,000 records left to write, 8.0 s, ETA 2.0 s",
                                "          1.0 MiB/s, 1,000 records/s, 10,001 records in, 8,000 out, 1 skipped"}));
  EXPECT_EQ(nlohmann::json::parse(progress_json(snapshot, rates, seconds(8)))["records_left"], 2000);
  snapshot.phase = PipelineSnapshot::Phase::draining;
  EXPECT_EQ(phase_of(snapshot), "draining");
  EXPECT_EQ(progress_line(snapshot, rates, seconds(8)).find(" %"), std::string::npos);
  // All is written: what was read is all there is to tell.
  snapshot.records_out = 10'000;
  EXPECT_NE(progress_line(snapshot, rates, seconds(8)).find("(100 %)"), std::string::npos);
}

TEST(Progress, Block) {
  ProgressRates rates;
  rates.add(snapshot_of(1, 0), at(seconds(0)));
  rates.add(snapshot_of(10'001, 2U << 20U), at(seconds(2)));
  PipelineSnapshot snapshot = snapshot_of(10'001, 2U << 20U);
  EXPECT_EQ(
      progress_block(snapshot, rates, milliseconds(2000), false, false),
      (std::vector<std::string>{"reading   12 of 24 objects, 1.0 MiB of 4.0 MiB (25 %), 2.0 s, ETA 6.0 s",
                                "          1.0 MiB/s, 5,000 records/s, 10,001 records in, 10,000 out, 1 skipped"}));
  snapshot.last_write_error = "503 SlowDown";
  snapshot.source.lanes = {{LaneId(0), 6, 3, "in/a.ndjson"}, {LaneId(1), 6, 6, ""}};
  const auto lanes = progress_block(snapshot, rates, milliseconds(2000), true, false);
  ASSERT_EQ(lanes.size(), 5U);
  EXPECT_EQ(lanes[2], "          waiting for the sink: 503 SlowDown");
  EXPECT_EQ(lanes[3], "  lane 0   3 of 6 objects: in/a.ndjson");
  EXPECT_EQ(lanes[4], "  lane 1   6 of 6 objects");
  for (const std::string& line : lanes) EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(progress_block(snapshot, rates, milliseconds(2000), false, true)[0].find("\x1b[1m"), std::string::npos);
}

TEST(Progress, Line) {
  ProgressRates rates;
  PipelineSnapshot snapshot;
  snapshot.waiting_for = "source";
  EXPECT_EQ(progress_line(snapshot, rates, seconds(10)),
            "progress: starting, 0 B/s, 0 records/s, 0 records in, 0 out, 10.0 s so far, waiting for the source");
  snapshot.phase = PipelineSnapshot::Phase::draining;
  snapshot.source.phase = "reading";
  EXPECT_EQ(phase_of(snapshot), "draining");
}

TEST(Progress, Json) {
  ProgressRates rates;
  PipelineSnapshot snapshot = snapshot_of(7, 100);
  snapshot.last_write_error = "bad \xFF bytes";
  const auto json = nlohmann::json::parse(progress_json(snapshot, rates, milliseconds(1500)));
  EXPECT_EQ(json["type"], "progress");
  EXPECT_EQ(json["phase"], "reading");
  EXPECT_EQ(json["elapsed_seconds"], 1.5);
  EXPECT_EQ(json["records_in"], 7);
  EXPECT_EQ(json["records_skipped"], 1);
  EXPECT_EQ(json["objects_total"], 24);
  EXPECT_FALSE(json.contains("eta_seconds"));
}

}  // namespace
}  // namespace millrace::cli
