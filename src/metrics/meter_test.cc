// SPDX-License-Identifier: Apache-2.0
#include "millrace/metrics/meter.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

TEST(Meter, WithoutARegistryHandsOutWorkingHandles) {
  const Meter meter;
  Counter counter = *meter.counter("source_records_total", "Records.");
  counter.add(3);
  EXPECT_EQ(counter.value(), 3U);
  Gauge gauge = *meter.gauge("queue_depth", "Depth.");
  gauge.set(4);
  gauge.add(-1.5);
  EXPECT_EQ(gauge.value(), 2.5);
  Histogram histogram = *meter.histogram("poll_seconds", "Poll.", {1, 2});
  histogram.observe(1.5);
  EXPECT_EQ(histogram.cells().counts[1].load(), 1U);
}

TEST(Meter, CopiesOfAHandleShareTheSeries) {
  Counter first;
  Counter second = first;
  second.add(2);
  EXPECT_EQ(first.value(), 2U);
}

TEST(Meter, FillsInTheStandardLabelsOfItsComponent) {
  auto registry = std::make_shared<MetricRegistry>();
  const Meter meter(registry, {{"pipeline", "p"}, {"component", "source"}, {"component_type", "s3"}});
  ASSERT_TRUE(meter.counter("a_total", "A."));
  ASSERT_TRUE(meter.with_component("out", "blackhole").counter("a_total", "A.", {{"shard", "0"}}));
  EXPECT_EQ(registry->to_prometheus_text(),
            "# HELP etl_a_total A.\n"
            "# TYPE etl_a_total counter\n"
            "etl_a_total{pipeline=\"p\",component=\"out\",component_type=\"blackhole\",shard=\"0\"} 0\n"
            "etl_a_total{pipeline=\"p\",component=\"source\",component_type=\"s3\"} 0\n");
}

TEST(Meter, RefusesALabelThatShadowsAStandardOne) {
  const Meter meter(std::make_shared<MetricRegistry>(), {{"pipeline", "p"}});
  const auto refused = meter.counter("a_total", "A.", {{"pipeline", "q"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::rule_broken);
  EXPECT_NE(refused.error().message().find("label 'pipeline'"), std::string::npos);
}

TEST(Histogram, AValueAtABoundCountsInItsBucket) {
  Histogram histogram({1, 10});
  for (const double value : {0.5, 1.0, 1.1, 10.0, 10.1, 1e9}) histogram.observe(value);
  EXPECT_EQ(histogram.cells().counts[0].load(), 2U);
  EXPECT_EQ(histogram.cells().counts[1].load(), 2U);
  EXPECT_EQ(histogram.cells().counts[2].load(), 2U);
}

TEST(Meter, HandlesCountEveryAddOfEveryThread) {
  Counter counter;
  Histogram histogram({1});
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("adder", [counter, histogram]() mutable {
        for (int k = 0; k < 10'000; ++k) {
          counter.add();
          histogram.observe(1);
        }
      });
    }
  }
  EXPECT_EQ(counter.value(), 40'000U);
  EXPECT_EQ(histogram.cells().counts[0].load(), 40'000U);
  EXPECT_EQ(histogram.cells().sum.load(), 40'000.0);
}

}  // namespace
}  // namespace millrace
