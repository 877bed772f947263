// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: a configuration from text with an environment of the test's own, and its problems.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "millrace/config/config.h"

namespace millrace::config_test {

using Variables = std::map<std::string, std::string, std::less<>>;

inline Config::Environment environment(Variables variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

inline Config parsed(std::string_view yaml, Variables variables = {}) {
  auto config = Config::parse(yaml, "p.yaml", environment(std::move(variables)));
  EXPECT_TRUE(config) << (config ? "" : config.error().message());
  return config ? *std::move(config) : Config();
}

/// The message of a text that must be refused; "accepted" when it is not.
inline std::string refused(std::string_view yaml, Variables variables = {}) {
  const auto config = Config::parse(yaml, "p.yaml", environment(std::move(variables)));
  if (config) return "accepted";
  EXPECT_EQ(config.error().code(), ErrorCode::config);
  return config.error().message();
}

}  // namespace millrace::config_test
