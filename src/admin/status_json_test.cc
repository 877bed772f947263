// SPDX-License-Identifier: Apache-2.0
#include "admin/status_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::admin {
namespace {

PipelineSnapshot sample() {
  PipelineSnapshot snapshot;
  snapshot.phase = PipelineSnapshot::Phase::running;
  snapshot.records_in = 10;
  snapshot.records_out = 7;
  snapshot.records_filtered = 2;
  snapshot.records_skipped = 1;
  snapshot.payload_bytes = 18'000'000'000'000'000'000U;
  snapshot.lanes = 4;
  snapshot.lanes_blocked = 1;
  snapshot.waiting_for = "sink";
  snapshot.since_commit = std::chrono::milliseconds(2500);
  snapshot.source.phase = "reading";
  snapshot.source.objects_total = 3;
  snapshot.source.objects_quarantined = 1;
  snapshot.source.lanes.push_back({.lane = LaneId(2), .objects_total = 2, .objects_done = 1, .current = "a \"b\""});
  snapshot.source_status_json = R"({"manifest":"m.json"})";
  return snapshot;
}

TEST(StatusJson, SaysWhatTheSnapshotSays) {
  const auto status = nlohmann::json::parse(to_status_json(sample()));
  EXPECT_EQ(status["phase"], "running");
  EXPECT_EQ(status["records"],
            nlohmann::json::parse(R"({"in":10,"out":7,"filtered":2,"skipped":1,"dead_lettered":0})"));
  EXPECT_EQ(status["payload_bytes"], 18'000'000'000'000'000'000U);
  EXPECT_EQ(status["lanes"], nlohmann::json::parse(R"({"total":4,"exhausted":0,"blocked":1,"idle":0})"));
  EXPECT_EQ(status["waiting_for"], "sink");
  EXPECT_TRUE(status["last_write_error"].is_null());
  EXPECT_EQ(status["seconds_since_commit"], 2.5);
  EXPECT_EQ(status["source"]["lanes"][0],
            nlohmann::json::parse(R"({"lane":2,"objects_total":2,"objects_done":1,"current":"a \"b\""})"));
  EXPECT_EQ(status["source"]["objects_quarantined"], 1);
  EXPECT_EQ(status["source"]["status"], nlohmann::json::parse(R"({"manifest":"m.json"})"));
}

TEST(StatusJson, IsJsonWhateverTheStringsHold) {
  PipelineSnapshot snapshot = sample();
  snapshot.last_write_error = "key \xff\x01";
  snapshot.source_status_json = "not json \xfe";
  const auto status = nlohmann::json::parse(to_status_json(snapshot));
  EXPECT_EQ(status["last_write_error"], "key \xEF\xBF\xBD\x01");
  EXPECT_EQ(status["source"]["status"], "not json \xEF\xBF\xBD");
  snapshot.source_status_json.clear();
  EXPECT_TRUE(nlohmann::json::parse(to_status_json(snapshot))["source"]["status"].is_null());
}

}  // namespace
}  // namespace millrace::admin
