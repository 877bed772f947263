// SPDX-License-Identifier: Apache-2.0
// Rules of a conformance suite as cases of gtest, one each.
//
//   const int rules = register_conformance("MySource", conformance::source_rules(my_source));
//
// at namespace scope of a gtest program gives tests MySource.<rule>.
#pragma once

#include <string>
#include <vector>

#include "millrace/testing/conformance.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

/// Before RUN_ALL_TESTS. A rule that is not applicable passes, and says why in the property `not_applicable`. Returns
/// how many there are.
int register_conformance(const std::string& suite, std::vector<conformance::Rule> rules);

}  // namespace millrace::testing
#pragma GCC visibility pop
