// SPDX-License-Identifier: Apache-2.0
// What all suites are made of: named checks on a case, which is what one rule finds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/testing/conformance.h"

namespace millrace::conformance {

template <class Case>
struct Check {
  std::string_view name;
  std::string_view promise;
  Outcome (*check)(const Case&);
};

/// Each check as a rule, on a case of its own that `make_case` makes when the rule is tried.
template <class Case, class MakeCase>
void add_rules(std::vector<Rule>& rules, std::span<const Check<Case>> checks, const MakeCase& make_case) {
  for (const Check<Case>& one : checks) {
    rules.push_back({one.name, one.promise, [make_case, check = one.check] { return check(make_case()); }});
  }
}

/// What the rule needs is missing for another rule's fault, which that one tells.
[[nodiscard]] inline Outcome not_tried(const std::string& why) { return not_applicable("could not be tried: " + why); }

}  // namespace millrace::conformance
