// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/source_conformance.h"

#include <utility>

#include "testing/conformance/source_case.h"

namespace millrace::conformance {

std::vector<Rule> source_rules(SourceFactory factory, SourceOptions options) {
  std::vector<Rule> rules;
  for (const auto checks :
       {source_control_checks(), source_reading_checks(), source_ack_checks(), source_position_checks()}) {
    add_rules(rules, checks, [factory, options] { return SourceCase{factory(), options}; });
  }
  return rules;
}

}  // namespace millrace::conformance
