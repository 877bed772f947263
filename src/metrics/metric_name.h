// SPDX-License-Identifier: Apache-2.0
// What a metric and a label may be called. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/metrics/meter.h"

namespace millrace::metrics {

enum class Kind { counter, gauge, histogram };
[[nodiscard]] std::string_view to_string(Kind) noexcept;

/// Checks namespace, family, help and labels; the error (rule_broken) names what is wrong and the rule.
[[nodiscard]] Result<void> check_claim(std::string_view name_space, std::string_view family, std::string_view help,
                                       Kind kind, const Labels& labels);

/// `name{label="value",...}`, for messages.
[[nodiscard]] std::string describe_series(std::string_view name, const Labels& labels);

}  // namespace millrace::metrics
