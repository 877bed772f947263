// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>

#include "millrace/testing/conformance.h"

namespace millrace::conformance {
namespace {

TEST(ConformanceReport, TellsVerdictRuleAndWhatWasSeen) {
  const Report report = try_rules({
      {"first", "the first holds", [] { return kept("4 lanes"); }},
      {"second", "the second holds", [] { return broken("lane 3 gives offset 4 after 7"); }},
      {"third", "the third holds", [] { return not_applicable("no hook `more` was given"); }},
  });
  EXPECT_FALSE(report.kept());
  EXPECT_EQ(report.to_text(),
            "kept            first: 4 lanes\n"
            "broken          second: lane 3 gives offset 4 after 7\n"
            "                rule: the second holds\n"
            "not applicable  third: no hook `more` was given\n");
  EXPECT_EQ(report.rules(Verdict::broken), std::vector<std::string>{"second"});
}

TEST(ConformanceReport, WhatIsThrownBreaksTheRuleThatWasTried) {
  const Report report =
      try_rules({{"first", "nothing is thrown", []() -> Outcome { throw std::runtime_error("ouch"); }},
                 {"second", "the next is tried", [] { return kept(); }}});
  EXPECT_EQ(report.rules(Verdict::broken), std::vector<std::string>{"first"});
  EXPECT_EQ(report.rules(Verdict::kept), std::vector<std::string>{"second"});
}

}  // namespace
}  // namespace millrace::conformance
