// SPDX-License-Identifier: Apache-2.0
// Goal: docs/METRICS.md lists every family that is exported, with its type, labels and meaning, and no other. Method:
// everything that claims metrics does so on one registry, whose text is read as a scraper reads it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "connectors/iggy/metrics.h"
#include "connectors/iggy/sink_metrics.h"
#ifdef MILLRACE_HAS_KAFKA
#include "connectors/kafka/metrics.h"
#include "connectors/kafka/sink_metrics.h"
#endif
#include "connectors/s3/metrics.h"
#include "connectors/s3/upload.h"
#include "millrace/connectors/stream.h"
#include "pipeline/control_metrics.h"
#include "pipeline/lane_metrics.h"
#include "pipeline/sink_metrics.h"

namespace millrace {
namespace {

struct Family {
  std::string type;
  std::string help;
  std::set<std::string> labels;  // beside those that every series has
};

/// Label names of "name{a=\"1\",b=\"2\"} 3".
std::set<std::string> labels_of(const std::string& series) {
  std::set<std::string> names;
  std::size_t at = series.find('{');
  while (at != std::string::npos) {
    const std::size_t equals = series.find("=\"", at);
    if (equals == std::string::npos) break;
    names.insert(series.substr(at + 1, equals - at - 1));
    at = series.find("\",", equals + 2);
    if (at != std::string::npos) ++at;
  }
  for (const char* standard : {"pipeline", "component", "component_type", "le"}) names.erase(standard);
  return names;
}

std::map<std::string, Family> families_in(const std::string& text) {
  std::map<std::string, Family> families;
  std::istringstream lines(text);
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string kind;
    if (line.starts_with("# HELP ")) {
      words >> hash >> kind >> family >> std::ws;
      std::getline(words, families[family].help);
    } else if (line.starts_with("# TYPE ")) {
      words >> hash >> kind >> family >> families[family].type;
    } else {
      families[family].labels.merge(labels_of(line));
    }
  }
  return families;
}

std::string table_of(const std::map<std::string, Family>& families) {
  std::string table = "| Family | Type | Labels of its own | Meaning |\n|---|---|---|---|\n";
  for (const auto& [name, family] : families) {
    std::string labels;
    for (const std::string& label : family.labels) labels += fmt::format("{}`{}`", labels.empty() ? "" : ", ", label);
    table += fmt::format("| `{}` | {} | {} | {} |\n", name, family.type, labels, family.help);
  }
  return table;
}

std::string exported() {
  const auto registry = std::make_shared<MetricRegistry>();
  const Meter meter(registry, {{"pipeline", "p"}, {"component", "c"}, {"component_type", "t"}});
  EXPECT_TRUE(ControlMetrics::make(meter));
  auto lanes = LaneMetrics::make(meter, meter);
  EXPECT_TRUE(lanes);
  lanes->dropped_by_reason->add(ErrorCode::malformed, 1);  // a series appears with its first record
  lanes->kept_by_reason->add(ErrorCode::malformed, 1);
  lanes->fallbacks_by_reason->add(ErrorCode::missing_field, 1);
  EXPECT_TRUE(SinkMetrics::make(meter, 1));
  EXPECT_TRUE(s3_source::SourceMetrics::make(meter));
#ifdef MILLRACE_HAS_KAFKA
  EXPECT_TRUE(kafka::Metrics::make(meter));
  EXPECT_TRUE(kafka::SinkMetrics::make(meter));
#endif
  EXPECT_TRUE(iggy_source::Metrics::make(meter));
  EXPECT_TRUE(iggy_sink::SinkMetrics::make(meter));
  for (const char* connector : {"kafka", "iggy"}) {
    auto gauges = StreamGauges::make(meter, connector, true);
    EXPECT_TRUE(gauges);
    gauges->set("topic", 0, {});
  }
  s3_sink::Upload upload;
  EXPECT_TRUE(s3_sink::claim_metrics(meter, upload));
  return table_of(families_in(registry->to_prometheus_text()));
}

TEST(MetricsPage, ListsEveryFamilyThatIsExportedAndNoOther) {
  std::ifstream file(MILLRACE_SOURCE_FOLDER "/docs/METRICS.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("| Family |");
  ASSERT_NE(begin, std::string::npos) << exported();
  const std::size_t end = page.find("\n\n", begin);
  EXPECT_EQ(page.substr(begin, end == std::string::npos ? end : end + 1 - begin), exported())
      << "the table of docs/METRICS.md has to be:\n"
      << exported();
}

/// Names behind "counter(", "gauge(" and "histogram(" in `text`, whatever stands between name and parenthesis.
std::set<std::string> names_claimed_in(const std::string& text) {
  std::set<std::string> names;
  for (const std::string call : {".counter(", ".gauge(", ".histogram("}) {
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      const std::size_t quote = text.find_first_not_of(" \n", at + call.size());
      if (quote == std::string::npos || text[quote] != '"') continue;
      names.insert(text.substr(quote + 1, text.find('"', quote + 1) - quote - 1));
    }
  }
  return names;
}

// What is claimed somewhere that the test above does not know of.
TEST(MetricsPage, NoSourceFileClaimsAFamilyThatIsNotListed) {
  const std::string table = exported();
  std::size_t claimed = 0;
  for (const char* part : {"src", "connectors", "formats", "cli"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(MILLRACE_SOURCE_FOLDER "/") + part)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".cc") || path.ends_with("_test.cc")) continue;
      std::ifstream file(path);
      for (const std::string& name : names_claimed_in({std::istreambuf_iterator<char>(file), {}})) {
        ++claimed;
        EXPECT_NE(table.find(fmt::format("| `etl_{}` |", name)), std::string::npos) << name << " of " << path;
      }
    }
  }
  EXPECT_GT(claimed, 30U);
}

}  // namespace
}  // namespace millrace
