// SPDX-License-Identifier: Apache-2.0
// What the rules of a source are written in: a fresh world, and instances over it. A rule that cannot be tried for
// another one's fault says so and is not broken.
#pragma once

#include <span>

#include "millrace/testing/source_conformance.h"
#include "testing/conformance/check.h"
#include "testing/conformance/source_driver.h"

namespace millrace::conformance {

struct SourceCase {
  SourceUnderTest world;
  SourceOptions options;
};

using SourceCheck = Check<SourceCase>;

[[nodiscard]] std::span<const SourceCheck> source_control_checks();
[[nodiscard]] std::span<const SourceCheck> source_reading_checks();
[[nodiscard]] std::span<const SourceCheck> source_ack_checks();
[[nodiscard]] std::span<const SourceCheck> source_position_checks();

}  // namespace millrace::conformance
