// SPDX-License-Identifier: Apache-2.0
// What is told of a manifest; the numbers are worked out by hand for six objects on four lanes.
#include "connectors/s3/status.h"

#include <gtest/gtest.h>

namespace millrace::s3_source {
namespace {

Manifest half_done() {
  Manifest m;
  m.generation = 7;
  m.updated = 1'000'000'000;
  m.identity.url = "s3://b/in/";
  m.lanes = 4;
  m.listing = {6, 100, 0};
  // Lane 0 has places 0 and 4, lane 1 has 1 and 5, lane 2 has 2, lane 3 has 3.
  m.positions = {{0, Watermark((std::int64_t{1} << 40) + 38632), "in/four\t", "\"e\"", 1},
                 {1, Watermark((std::int64_t{1} << 40) - 1), "in/one", "\"e\"", 1}};
  m.owner.host = "worker-1";
  m.owner.pid = 4711;
  return m;
}

TEST(Status, CountsObjectsByLane) {
  const Manifest m = half_done();
  const LaneStatus zero = lane_status(m, 0);
  EXPECT_EQ(zero.objects, 2U);
  EXPECT_EQ(zero.objects_done, 1U);
  EXPECT_EQ(zero.records_in_progress, 38632U);
  const LaneStatus one = lane_status(m, 1);
  EXPECT_EQ(one.objects, 2U);
  EXPECT_EQ(one.objects_done, 1U);
  EXPECT_EQ(one.records_in_progress, 0U);
  EXPECT_EQ(lane_status(m, 3).objects, 1U);
  EXPECT_EQ(lane_status(m, 3).objects_done, 0U);
  EXPECT_EQ(objects_done(m), 2U);
}

TEST(Status, TextNamesWhatAPersonLooksFor) {
  Manifest m = half_done();
  const std::string text = status_text(m, "s3://b/ck.json", 1'030'000'000);
  for (const char* part : {"s3://b/in/", "s3://b/ck.json, saved 30s ago", "worker-1", "2 of 6 committed, 4 left",
                           "lane 0    1 of 2 objects, 38632 records into 'in/four\\t'"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  m.owner.released = true;
  EXPECT_NE(status_text(m, "u", 0).find("stopped; a run goes on from here"), std::string::npos);
  m.complete = true;
  EXPECT_NE(status_text(m, "u", 0).find("state     complete\n"), std::string::npos);
  // A retry, running or killed.
  m.owner.released = false;
  m.owner.heartbeat = 1'000'000'000;
  const std::string retried = status_text(m, "u", 1'030'000'000);
  EXPECT_NE(retried.find("state     complete; retried, and kept by host worker-1"), std::string::npos) << retried;
  EXPECT_NE(retried.find(", heartbeat 30s ago\n"), std::string::npos) << retried;
}

TEST(Status, WhatIsSetAsideIsNamed) {
  Manifest m = half_done();
  m.quarantined.push_back({.lane = 1,
                           .ordinal = 0,
                           .key = "in/one",
                           .size = 120,
                           .records = 7,
                           .byte = 60,
                           .code = "truncated",
                           .reason = "cut short"});
  EXPECT_NE(status_text(m, "u", 0).find("  set aside 1 object could not be read; once mended, `millrace run FILE "
                                        "--retry-quarantined` reads it\n    'in/one', 7 records delivered, fault met "
                                        "within its first 60 of 120 bytes (truncated): cut short\n"),
            std::string::npos)
      << status_text(m, "u", 0);
  const std::string json = status_json(m, "u", 0);
  EXPECT_NE(json.find(R"("objects_quarantined":1)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("quarantined":[{"key":"in/one","lane":1,"ordinal":0,"etag":"","size":120,"records":7,)"
                      R"("byte":60,"code":"truncated","reason":"cut short"}])"),
            std::string::npos)
      << json;
  m.quarantined.resize(12, m.quarantined.front());
  const std::string text = status_text(m, "u", 0);
  EXPECT_NE(text.find("set aside 12 objects"), std::string::npos);
  EXPECT_NE(text.find("    and 2 more; --format json has all\n"), std::string::npos);
  EXPECT_NE(status_json(m, "u", 0, 0).find(R"("objects_quarantined":12)"), std::string::npos);
  m.complete = true;
  EXPECT_TRUE(committed_summary(m, "u").starts_with("all 6 objects committed, 12 of them set aside, in u"));
}

TEST(Status, JsonIsOneDocument) {
  const std::string json = status_json(half_done(), "s3://b/ck.json", 1'030'000'000);
  for (const char* part :
       {R"("manifest":"s3://b/ck.json")", R"("objects":6,"objects_done":2)", R"("age_seconds":30.0)",
        R"({"lane":0,"objects":2,"objects_done":1,"records_in_progress":38632,"key":"in/four\\t"})"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(Status, AChangeIsALineOfJson) {
  EXPECT_EQ(
      change_json({"in/a", ObjectVersion{"\"1\"", 10, 1'000'000}, ObjectVersion{"\"2\"", 12, 2'500'000}}),
      R"({"change":"changed","key":"in/a","was":{"etag":"\"1\"","size":10,"modified":"1970-01-01T00:00:01.000000Z"},)"
      R"("is":{"etag":"\"2\"","size":12,"modified":"1970-01-01T00:00:02.500000Z"}})"
      "\n");
  EXPECT_EQ(change_json({"in/\xFF", std::nullopt, ObjectVersion{"", 1}}),
            "{\"change\":\"added\",\"key\":{\"base64\":\"aW4v/w==\"},\"is\":{\"etag\":\"\",\"size\":1}}\n");
  EXPECT_EQ(change_json({"in/\n", ObjectVersion{"e", 1}, std::nullopt}),
            "{\"change\":\"removed\",\"key\":\"in/\\n\",\"was\":{\"etag\":\"e\",\"size\":1}}\n");
  ListingDifference difference;
  difference.add({"a", std::nullopt, ObjectVersion{}});
  difference.add({"b", std::nullopt, ObjectVersion{}});
  difference.add({"c", ObjectVersion{}, std::nullopt});
  EXPECT_EQ(change_total_json(difference, "u"),
            "{\"total\":{\"manifest\":\"u\",\"added\":2,\"removed\":1,\"changed\":0}}\n");
}

TEST(Status, TheSummarySaysHowToGoOn) {
  Manifest m = half_done();
  EXPECT_EQ(committed_summary(m, "u"), "2 of 6 objects committed in u; run again to go on from there");
  m.complete = true;
  EXPECT_EQ(committed_summary(m, "u"), "all 6 objects committed in u");
}

}  // namespace
}  // namespace millrace::s3_source
