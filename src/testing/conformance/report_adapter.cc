// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "millrace/testing/conformance.h"

namespace millrace::conformance {
namespace {

Outcome try_one(const Rule& rule) {
  try {
    return rule.check();
  } catch (const std::exception& thrown) {
    return broken(fmt::format("an exception came out of it: {}. Errors are returned, not thrown", thrown.what()));
  } catch (...) {
    return broken("an exception came out of it, and no std::exception. Errors are returned, not thrown");
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kept:
      return "kept";
    case Verdict::broken:
      return "broken";
    case Verdict::not_applicable:
      break;
  }
  return "not applicable";
}

bool Report::kept() const {
  return std::ranges::none_of(findings, [](const Finding& one) { return one.outcome.verdict == Verdict::broken; });
}

std::vector<std::string> Report::rules(Verdict verdict) const {
  std::vector<std::string> names;
  for (const Finding& one : findings) {
    if (one.outcome.verdict == verdict) names.emplace_back(one.rule);
  }
  return names;
}

std::string Report::to_text() const {
  std::string text;
  for (const Finding& one : findings) {
    const std::string& seen = one.outcome.seen;
    text += fmt::format("{:<14}  {}{}{}\n", to_string(one.outcome.verdict), one.rule, seen.empty() ? "" : ": ", seen);
    if (one.outcome.verdict == Verdict::broken) text += fmt::format("{:<14}  rule: {}\n", "", one.promise);
  }
  return text;
}

Report try_rules(const std::vector<Rule>& rules) {
  Report report;
  for (const Rule& rule : rules) report.findings.push_back({rule.name, rule.promise, try_one(rule)});
  return report;
}

}  // namespace millrace::conformance
