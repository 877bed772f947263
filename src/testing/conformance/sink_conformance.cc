// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/sink_conformance.h"

#include <algorithm>
#include <utility>

#include "testing/conformance/sink_case.h"

namespace millrace::conformance {

std::size_t SinkCase::times(const std::string& record) const {
  const std::vector<std::string> there = world.durable();
  return static_cast<std::size_t>(std::ranges::count(there, record));
}

std::string SinkCase::not_there(const std::vector<std::string>& records) const {
  const std::vector<std::string> there = world.durable();
  for (const std::string& record : records) {
    if (std::ranges::find(there, record) == there.end()) return record;
  }
  return {};
}

std::vector<Rule> sink_rules(SinkFactory factory, SinkOptions options) {
  std::vector<Rule> rules;
  for (const auto checks : {sink_write_checks(), sink_life_checks()}) {
    add_rules(rules, checks, [factory, options] { return SinkCase{factory(), options}; });
  }
  return rules;
}

}  // namespace millrace::conformance
