// SPDX-License-Identifier: Apache-2.0
// What the rules of a sink are written in: an empty destination, and instances that write there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/testing/sink_conformance.h"
#include "testing/conformance/check.h"
#include "testing/conformance/sink_driver.h"

namespace millrace::conformance {

struct SinkCase {
  SinkUnderTest world;
  SinkOptions options;
  /// How often a record is in the destination.
  [[nodiscard]] std::size_t times(const std::string& record) const;
  /// The first of `records` that is not there; empty when all are.
  [[nodiscard]] std::string not_there(const std::vector<std::string>& records) const;
};

using SinkCheck = Check<SinkCase>;

[[nodiscard]] std::span<const SinkCheck> sink_write_checks();
[[nodiscard]] std::span<const SinkCheck> sink_life_checks();

}  // namespace millrace::conformance
