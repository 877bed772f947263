// SPDX-License-Identifier: Apache-2.0
// Where a partition begins, against a model that knows which records there are; how `start` is written; the gauges.
#include "millrace/connectors/stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "millrace/config/config.h"

namespace millrace {
namespace {

constexpr const char* kWhere = "topic 'orders', partition 3";

HeldRange held(std::int64_t first, std::int64_t end) { return {Offset(first), Watermark(end)}; }
StreamStart start(StreamStart::Kind kind, std::int64_t offset = 0) { return {kind, Offset(offset), kNoTimestamp}; }

Result<StreamBeginning> begin(std::optional<Watermark> kept, HeldRange range, StreamStart from = {},
                              OnPositionLost lost = OnPositionLost::fail) {
  return stream_beginning(kept, range, from, lost, kWhere);
}

TEST(StreamBeginning, AKeptPositionIsTakenWhateverStartSays) {
  using Kind = StreamStart::Kind;
  for (const Kind kind : {Kind::earliest, Kind::latest, Kind::stored, Kind::offset, Kind::timestamp}) {
    const auto at = begin(Watermark(7), held(2, 9), start(kind, 3));
    ASSERT_TRUE(at) << at.error().message();
    EXPECT_EQ(at->from, Watermark(7));
    EXPECT_FALSE(at->at);
    EXPECT_EQ(at->notice, "");
  }
}

TEST(StreamBeginning, NothingKeptBeginsWhereStartSays) {
  EXPECT_EQ(begin({}, held(2, 9))->from, Watermark(2)) << "by default nothing is left out";
  EXPECT_EQ(begin({}, held(2, 9), start(StreamStart::Kind::latest))->from, Watermark(9));
  EXPECT_EQ(begin({}, held(2, 9), start(StreamStart::Kind::offset, 9))->from, Watermark(9));
  EXPECT_EQ(begin({}, held(5, 5))->from, Watermark(5)) << "an empty partition whose records are gone";
  const auto at = begin({}, held(2, 9), {StreamStart::Kind::timestamp, {}, 42});
  EXPECT_EQ(at->at, 42);
  const auto none = begin({}, held(2, 9), start(StreamStart::Kind::stored));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            "topic 'orders', partition 3: start is stored, but no position is kept for it; set start to earliest or "
            "latest");
  const auto far = begin({}, held(2, 9), start(StreamStart::Kind::offset, 10));
  ASSERT_FALSE(far);
  EXPECT_EQ(
      far.error().message(),
      "topic 'orders', partition 3: start asks for offset 10, but the broker holds offsets 2 to 8; set start to an "
      "offset that it holds, or to earliest or latest");
}

TEST(StreamBeginning, ARemovedHeadStopsTheRunOrIsSaidWithBothNumbers) {
  const auto stop = begin(Watermark(3), held(10, 20));
  ASSERT_FALSE(stop);
  EXPECT_TRUE(stop.error().is_fatal());
  EXPECT_EQ(
      stop.error().message(),
      "topic 'orders', partition 3: the kept position is 3, but the broker holds offsets 10 to 19: 7 records were "
      "removed before they were read; set on_position_lost to earliest to go on without them, or to latest to go "
      "on with what comes from now on");
  const auto early = begin(Watermark(3), held(10, 20), {}, OnPositionLost::earliest);
  EXPECT_EQ(early->from, Watermark(10));
  EXPECT_NE(early->notice.find("kept position is 3, but the broker holds offsets 10 to 19"), std::string::npos);
  EXPECT_EQ(begin(Watermark(3), held(10, 20), {}, OnPositionLost::latest)->from, Watermark(20));
}

TEST(StreamBeginning, ALostTailStopsTheRunOrIsSaidWithBothNumbers) {
  const auto stop = begin(Watermark(30), held(10, 20));
  ASSERT_FALSE(stop);
  EXPECT_NE(stop.error().message().find("kept position is 30, but the broker holds offsets 10 to 19"),
            std::string::npos)
      << stop.error().message();
  EXPECT_EQ(begin(Watermark(30), held(10, 20), {}, OnPositionLost::latest)->from, Watermark(20));
  EXPECT_EQ(begin(Watermark(30), held(10, 20), {}, OnPositionLost::earliest)->from, Watermark(10));
  EXPECT_NE(begin(Watermark(1), held(0, 0)).error().message().find("holds nothing (its next offset is 0)"),
            std::string::npos);
  EXPECT_EQ(begin(Watermark(20), held(10, 20))->notice, "") << "all is read: nothing is lost";
}

/// What is skipped is only what the broker no longer has, unless the operator chose latest; and then it is said.
RC_GTEST_PROP(StreamBeginningProperty, SkipsOnlyWhatIsGone, ()) {
  const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, 20);
  const std::int64_t end = first + *rc::gen::inRange<std::int64_t>(0, 20);
  const std::int64_t kept = *rc::gen::inRange<std::int64_t>(0, 50);
  const auto lost = *rc::gen::element(OnPositionLost::fail, OnPositionLost::earliest, OnPositionLost::latest);
  const auto at = begin(Watermark(kept), held(first, end), {}, lost);
  const bool there = kept >= first && kept <= end;
  RC_ASSERT(at.has_value() == (there || lost != OnPositionLost::fail));
  if (!at) return;
  RC_ASSERT(at->from.value() >= first && at->from.value() <= end);
  std::set<std::int64_t> left_out;  // of what is held and was not read before
  for (std::int64_t offset = std::max(first, kept); offset < at->from.value(); ++offset) left_out.insert(offset);
  if (there || lost == OnPositionLost::earliest) RC_ASSERT(left_out.empty());
  RC_ASSERT(at->notice.empty() == there);
}

struct Read {
  StreamStart value;
  std::string problem;
};
Read read(const std::string& yaml) {
  const auto config = Config::parse("start: " + yaml + "\n", "p.yaml");
  EXPECT_TRUE(config) << config.error().message();
  Read out;
  ConfigProblems problems;
  OptionForm<StreamStart>::read(config->section("start"), out.value, problems);
  if (!problems.empty()) out.problem = problems.all().front();
  return out;
}

TEST(StreamStartForm, IsAWordOrOneKey) {
  EXPECT_EQ(read("latest").value.kind, StreamStart::Kind::latest);
  EXPECT_EQ(read("Latest").value.kind, StreamStart::Kind::latest) << "as with other choices";
  EXPECT_EQ(read("{offset: 42}").value.offset, Offset(42));
  // 1782907200 is what `date -u -d 2026-07-01T12:00:00Z +%s` prints.
  EXPECT_EQ(read("{timestamp: 2026-07-01T12:00:00Z}").value.timestamp, 1'782'907'200'000'000);
  for (const char* text :
       {"earliest", "latest", "stored", "{offset: 42}", "{timestamp: 2026-07-01T12:00:00.000000Z}"}) {
    EXPECT_EQ(OptionForm<StreamStart>::text(read(text).value), text);
  }
}

TEST(StreamStartForm, WhatElseIsRefusedWithWhatIsExpected) {
  EXPECT_EQ(read("newest").problem,
            "p.yaml:1:8: start: expects earliest, latest, stored, {offset: 42} or {timestamp: 2026-07-01T12:00:00Z}, "
            "found 'newest'");
  EXPECT_EQ(read("{offset: -1}").problem, "p.yaml:1:17: start.offset: expects an offset of 0 or more, found '-1'");
  EXPECT_NE(read("{timestamp: noon}").problem.find("'noon' is no time of RFC 3339"), std::string::npos);
  EXPECT_NE(read("{offset: 1, timestamp: 2026-07-01T12:00:00Z}").problem.find("other keys"), std::string::npos);
  EXPECT_NE(read("[1]").problem.find("found a list"), std::string::npos);
}

TEST(PartitionOfTopic, IsItsOwnWhereKeysCannotMeet) {
  const std::vector<std::string> apart{"orders", "items", "order-s"};
  EXPECT_EQ(partition_of_topic(apart, 0, 3), std::nullopt);
  EXPECT_EQ(partition_of_topic(apart, 1, 3), PartitionId(3));
  EXPECT_EQ(partition_of_topic(apart, 2, 0), PartitionId(0));
  for (const auto& alike : {std::vector<std::string>{"a b", "a_b"}, {".a", "_a", "c"}, {"a/b", "a.b"}})
    EXPECT_EQ(partition_of_topic(alike, 1, 3), std::nullopt) << alike[0];
}

TEST(StreamGauges, TheTotalFollowsWhatIsAssigned) {
  const auto registry = std::make_shared<MetricRegistry>();
  auto gauges = StreamGauges::make(Meter(registry, {}), "kafka", true);
  ASSERT_TRUE(gauges);
  gauges->set("a", 0, {.end = 100, .fetched = 50, .durable = 45, .committed = 40});
  gauges->set("a", 1, {.end = 10, .committed = 10});
  gauges->set("a", 0, {.end = 100, .fetched = 60, .durable = 50, .committed = 50});
  EXPECT_EQ(gauges->lag(), 50);
  const std::string text = registry->to_prometheus_text();
  EXPECT_NE(text.find("etl_kafka_lag_records 50"), std::string::npos) << text;
  EXPECT_NE(text.find("etl_kafka_assigned_partitions 2"), std::string::npos) << text;
  EXPECT_NE(text.find("etl_kafka_partition_durable_offset{topic=\"a\",partition=\"0\"} 50"), std::string::npos) << text;
  gauges->forget("a", 0);
  EXPECT_EQ(gauges->lag(), 0);
  EXPECT_NE(registry->to_prometheus_text().find("etl_kafka_partition_end_offset{topic=\"a\",partition=\"0\"} Nan"),
            std::string::npos)
      << "another process has it now\n"
      << registry->to_prometheus_text();
  gauges->set("a", 0, {.begin = 3, .end = 7});
  EXPECT_EQ(gauges->lag(), 4) << "nothing is committed yet";
  gauges->set("a", 0, {.begin = 3, .end = 7, .committed = 5});
  EXPECT_EQ(gauges->lag(), 2) << "a partition that comes back has its series still";
}

TEST(StreamStatus, SaysOfEachPartitionHowFarItsReaderIs) {
  const StreamStanding all[] = {{"orders", 0, "orders[0]", Watermark(3), Watermark(8)},
                                {"orders", 1, "orders[1]", Watermark(9), Watermark(4)}};
  EXPECT_EQ(stream_status("group", "g", all, false),
            "group 'g': 5 records behind\n"
            "  orders[0]: 3 is stored, the end is 8: 5 behind\n"
            "  orders[1]: 9 is stored, the end is 4: 0 behind\n");
  EXPECT_EQ(stream_status("group", "g", all, true),
            "{\"group\":\"g\",\"behind\":5,\"partitions\":["
            "{\"topic\":\"orders\",\"partition\":0,\"stored\":3,\"end\":8,\"behind\":5},"
            "{\"topic\":\"orders\",\"partition\":1,\"stored\":9,\"end\":4,\"behind\":0}]}\n");
}

TEST(StreamStatus, OfAPartitionThatNeverHadARecordNothingNeedsToBeStored) {
  const StreamStanding all[] = {{"orders", 0, "orders[0]", std::nullopt, Watermark(0)}};
  EXPECT_EQ(stream_status("group", "g", all, false),
            "group 'g': 0 records behind\n"
            "  orders[0]: nothing is stored, the end is 0\n");
  EXPECT_EQ(stream_status("group", "g", all, true),
            "{\"group\":\"g\",\"behind\":0,\"partitions\":["
            "{\"topic\":\"orders\",\"partition\":0,\"stored\":null,\"end\":0,\"behind\":0}]}\n");
}

TEST(StreamStatus, WhereNothingIsStoredNobodyKnowsHowFarBehind) {
  const StreamStanding all[] = {{"a \"b\"", 0, "'s/a' partition 0", std::nullopt, Watermark(8)},
                                {"a \"b\"", 1, "'s/a' partition 1", Watermark(3), Watermark(4)}};
  EXPECT_EQ(stream_status("consumer", "7", all, false),
            "consumer '7': 1 records behind, and nothing is stored in 1 of 2 partitions\n"
            "  's/a' partition 0: nothing is stored, the end is 8\n"
            "  's/a' partition 1: 3 is stored, the end is 4: 1 behind\n");
  EXPECT_EQ(stream_status("consumer", "7", std::span(all).first(1), true),
            "{\"consumer\":\"7\",\"behind\":null,\"partitions\":["
            "{\"topic\":\"a \\\"b\\\"\",\"partition\":0,\"stored\":null,\"end\":8,\"behind\":null}]}\n");
}

}  // namespace
}  // namespace millrace
