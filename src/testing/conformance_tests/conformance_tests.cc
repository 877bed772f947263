// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/conformance_tests.h"

#include <gtest/gtest.h>

#include <utility>

namespace millrace::testing {
namespace {

class ConformanceTest : public ::testing::Test {
 public:
  explicit ConformanceTest(conformance::Rule rule) : rule_(std::move(rule)) {}
  void TestBody() override {
    const conformance::Report report = conformance::try_rules({rule_});
    if (!report.kept()) ADD_FAILURE() << report.to_text();
    const conformance::Outcome& outcome = report.findings.front().outcome;
    if (outcome.verdict == conformance::Verdict::not_applicable) RecordProperty("not_applicable", outcome.seen);
  }

 private:
  const conformance::Rule rule_;
};

}  // namespace

int register_conformance(const std::string& suite, std::vector<conformance::Rule> rules) {
  const int count = static_cast<int>(rules.size());
  for (conformance::Rule& rule : rules) {
    const std::string name(rule.name);
    // The type must be the fixture's own, or gtest takes each case for another suite.
    ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [rule = std::move(rule)]() -> ConformanceTest* { return new ConformanceTest(rule); });
  }
  return count;
}

}  // namespace millrace::testing
