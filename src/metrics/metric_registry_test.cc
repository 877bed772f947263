// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "millrace/metrics/meter.h"

namespace millrace {
namespace {

// Written by hand from the text format's page (exposition format 0.0.4), with each kind, every escape and a histogram.
TEST(MetricRegistry, RendersTheGoldenText) {
  MetricRegistry registry;
  Counter records = *registry.counter("source_records_total", "Records read.", {{"pipeline", "p"}, {"lane", "0"}});
  Counter other = *registry.counter("source_records_total", "Records read.", {{"pipeline", "p"}, {"lane", "1"}});
  Gauge depth = *registry.gauge("queue_depth", "Batches \\ waiting\nnow.", {{"queue", "a\\b\"c\nd"}});
  Histogram wait =
      *registry.histogram("sink_write_duration_seconds", "Time of one write.", {0.25, 1, 2.5}, {{"pipeline", "p"}});
  Gauge bare = *registry.gauge("pipeline_threads", "Lane threads.", {});
  records.add(12345678901);
  other.add();
  depth.set(-1.5);
  bare.set(2);
  for (const double value : {0.25, 0.5, 2.0, 4.0}) wait.observe(value);
  EXPECT_EQ(registry.to_prometheus_text(),
            "# HELP etl_pipeline_threads Lane threads.\n"
            "# TYPE etl_pipeline_threads gauge\n"
            "etl_pipeline_threads 2\n"
            "# HELP etl_queue_depth Batches \\\\ waiting\\nnow.\n"
            "# TYPE etl_queue_depth gauge\n"
            "etl_queue_depth{queue=\"a\\\\b\\\"c\\nd\"} -1.5\n"
            "# HELP etl_sink_write_duration_seconds Time of one write.\n"
            "# TYPE etl_sink_write_duration_seconds histogram\n"
            "etl_sink_write_duration_seconds_count{pipeline=\"p\"} 4\n"
            "etl_sink_write_duration_seconds_sum{pipeline=\"p\"} 6.75\n"
            "etl_sink_write_duration_seconds_bucket{pipeline=\"p\",le=\"0.25\"} 1\n"
            "etl_sink_write_duration_seconds_bucket{pipeline=\"p\",le=\"1\"} 2\n"
            "etl_sink_write_duration_seconds_bucket{pipeline=\"p\",le=\"2.5\"} 3\n"
            "etl_sink_write_duration_seconds_bucket{pipeline=\"p\",le=\"+Inf\"} 4\n"
            "# HELP etl_source_records_total Records read.\n"
            "# TYPE etl_source_records_total counter\n"
            "etl_source_records_total{pipeline=\"p\",lane=\"0\"} 12345678901\n"
            "etl_source_records_total{pipeline=\"p\",lane=\"1\"} 1\n");
}

TEST(MetricRegistry, AnEmptyOneRendersNothing) { EXPECT_EQ(MetricRegistry().to_prometheus_text(), ""); }

// INV-10: whatever the order of the labels, one series has one owner.
TEST(MetricRegistry, ASecondClaimOfASeriesIsRefusedByName) {
  MetricRegistry registry;
  ASSERT_TRUE(registry.gauge("queue_depth", "Depth.", {{"pipeline", "p"}, {"queue", "q"}}));
  const auto second = registry.gauge("queue_depth", "Depth.", {{"queue", "q"}, {"pipeline", "p"}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::rule_broken);
  EXPECT_TRUE(second.error().is_fatal());
  EXPECT_NE(second.error().message().find("etl_queue_depth{queue=\"q\",pipeline=\"p\"}"), std::string::npos);
  EXPECT_TRUE(registry.gauge("queue_depth", "Depth.", {{"pipeline", "p2"}, {"queue", "q"}}));
}

TEST(MetricRegistry, AFamilyHasOneTypeAndOneHelpText) {
  MetricRegistry registry;
  ASSERT_TRUE(registry.gauge("depth", "Depth.", {{"a", "1"}}));
  EXPECT_FALSE(registry.histogram("depth", "Depth.", {1}, {{"a", "2"}}));
  EXPECT_FALSE(registry.gauge("depth", "Another depth.", {{"a", "2"}}));
  EXPECT_TRUE(registry.gauge("depth", "Depth.", {{"a", "2"}}));
}

TEST(MetricRegistry, NamesAreChecked) {
  MetricRegistry registry;
  for (const char* family : {"", "Records_total", "1_total", "a-b_total", "a:b_total", "etl_a_total", "records"}) {
    EXPECT_FALSE(registry.counter(family, "Help.", {})) << family;
  }
  EXPECT_FALSE(registry.gauge("depth_total", "Help.", {}));
  EXPECT_FALSE(registry.gauge("depth", "", {}));
  EXPECT_FALSE(registry.gauge("depth", "Help.", {{"__name", "x"}}));
  EXPECT_FALSE(registry.gauge("depth", "Help.", {{"a", "x"}, {"a", "y"}}));
  EXPECT_FALSE(registry.gauge("depth", "Help.", {{"a", "\xff"}}));
  EXPECT_FALSE(registry.gauge("depth", "Help.", {{"a", "\xed\xa0\x80"}}));
  EXPECT_TRUE(registry.gauge("depth", "Help.", {{"a", "\xe2\x82\xac \xf0\x9f\x9a\x80"}}));
  EXPECT_FALSE(registry.histogram("wait_seconds", "Help.", {1}, {{"le", "1"}}));
  EXPECT_FALSE(registry.histogram("wait_seconds", "Help.", {1, 1}, {}));
  EXPECT_FALSE(registry.histogram("wait_seconds", "Help.", {1, 1.0 / 0.0}, {}));
}

TEST(MetricRegistry, AMalformedNamespaceIsRefusedAtTheFirstClaim) {
  for (const char* name_space : {"", "9x", "_x", "a-b", "Etl"}) {
    MetricRegistry registry(name_space);
    const auto refused = registry.counter("a_total", "Help.", {});
    ASSERT_FALSE(refused) << name_space;
    EXPECT_NE(refused.error().message().find("metrics.namespace"), std::string::npos);
  }
  MetricRegistry registry("shop");
  ASSERT_TRUE(registry.counter("a_total", "Help.", {}));
  EXPECT_TRUE(registry.to_prometheus_text().starts_with("# HELP shop_a_total "));
}

TEST(MetricRegistry, NoFamilyTakesASampleNameOfAHistogram) {
  MetricRegistry registry;
  ASSERT_TRUE(registry.histogram("wait_seconds", "Help.", {1}, {}));
  EXPECT_FALSE(registry.gauge("wait_seconds_count", "Help.", {}));
  ASSERT_TRUE(registry.gauge("size_bytes_sum", "Help.", {}));
  EXPECT_FALSE(registry.histogram("size_bytes", "Help.", {1}, {}));
}

TEST(MetricRegistry, HandlesOutliveTheRegistry) {
  Counter counter;
  {
    MetricRegistry registry;
    counter = *registry.counter("a_total", "Help.", {});
  }
  counter.add();
  EXPECT_EQ(counter.value(), 1U);
}

}  // namespace
}  // namespace millrace
