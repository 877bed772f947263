// SPDX-License-Identifier: Apache-2.0
#include "admin/health.h"

#include <gtest/gtest.h>

#include "millrace/testing/manual_clock.h"

namespace millrace::admin {
namespace {

using Phase = PipelineSnapshot::Phase;
using std::chrono::minutes;
using std::chrono::seconds;

struct HealthTest : ::testing::Test {
  millrace::testing::ManualClock clock;
  Health health{seconds(30), minutes(5), clock};
  PipelineSnapshot snapshot;
  HealthTest() { snapshot.phase = Phase::running; }
};

TEST_F(HealthTest, AnOldHeartbeatIsUnhealthy) {
  snapshot.since_control_heartbeat = seconds(30);
  EXPECT_FALSE(health.complaint(snapshot));
  snapshot.since_control_heartbeat = seconds(31);
  EXPECT_EQ(health.complaint(snapshot), "the control thread has given no sign for 31.0 s (limit 30 s)");
}

TEST_F(HealthTest, AHeartbeatMattersOnlyWhileThereIsARun) {
  snapshot.since_control_heartbeat = minutes(10);
  snapshot.phase = Phase::starting;
  EXPECT_FALSE(health.complaint(snapshot));
  snapshot.phase = Phase::ended;
  EXPECT_FALSE(health.complaint(snapshot));
  snapshot.phase = Phase::draining;
  EXPECT_TRUE(health.complaint(snapshot));
}

TEST_F(HealthTest, AStuckWatermarkIsUnhealthyWhileRecordsFlow) {
  snapshot.pending_batches = 3;
  for (int minute = 0; minute <= 5; ++minute) {
    snapshot.since_commit = minutes(minute);
    snapshot.records_in += 1000;
    EXPECT_FALSE(health.complaint(snapshot)) << minute;
    clock.advance(minutes(1));
  }
  snapshot.since_commit = minutes(6);
  snapshot.records_in += 1000;
  snapshot.last_write_error = "no space";
  EXPECT_EQ(
      health.complaint(snapshot),
      "records come in, but nothing was committed for 360 s (limit 300 s); 3 batches are pending; last write error: "
      "no space");
  snapshot.since_commit = seconds(0);  // it moved
  EXPECT_FALSE(health.complaint(snapshot));
}

TEST_F(HealthTest, NothingPendingOrNothingComingIsHealthy) {
  snapshot.since_commit = minutes(60);
  snapshot.records_in = 1000;
  snapshot.pending_batches = 3;
  EXPECT_FALSE(health.complaint(snapshot)) << "one look cannot tell whether records flow";
  clock.advance(minutes(1));
  EXPECT_FALSE(health.complaint(snapshot)) << "none came";
  snapshot.records_in = 2000;
  snapshot.pending_batches = 0;
  EXPECT_FALSE(health.complaint(snapshot)) << "all that came is settled";
  snapshot.pending_batches = 1;
  EXPECT_TRUE(health.complaint(snapshot));
  clock.advance(minutes(3));
  EXPECT_FALSE(health.complaint(snapshot)) << "the flow has ended";
}

}  // namespace
}  // namespace millrace::admin
