// SPDX-License-Identifier: Apache-2.0
// Values that fields are set to, as JSON. Pure but for the clock and the random numbers that are passed in.
#pragma once

#include <cstddef>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/ops/transform_spec.h"
#include "ops/transforms/run_context.h"

namespace millrace::transforms {

/// Whether it says something else when the same record comes again.
[[nodiscard]] bool varies(ops::FieldValue::Computed computed) noexcept;
/// What the clock has in place of a time of the record.
[[nodiscard]] ops::FieldValue::Computed by_the_clock(ops::FieldValue::Computed of_the_record) noexcept;
/// Bytes of the longest.
inline constexpr std::size_t kLongestComputed = 40;

/// Fails (config) when a static value is no JSON.
[[nodiscard]] Result<void> check_value(const ops::FieldValue& value);
/// Appends the value. False: the record has no time of its own, or one that has no date.
[[nodiscard]] bool append_value(const ops::FieldValue& value, RunContext& context, ByteBuffer& out);

}  // namespace millrace::transforms
