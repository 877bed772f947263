// SPDX-License-Identifier: Apache-2.0
// RecordTotals: what one transform was given of one source record, and what it made of it, all documents together: a jq
// before it may have made several. Lane thread.
#pragma once

#include <cstdint>

#include "ops/transforms/run_context.h"

namespace millrace::transforms {

struct RecordTotals {
  std::uint64_t record = 0;
  std::uint64_t given = 0;  ///< bytes
  std::uint64_t made = 0;   ///< bytes
  std::uint64_t outputs = 0;

  /// A document of `size` bytes comes.
  void take(const RunContext& context, std::uint64_t size) noexcept {
    if (record != context.record) *this = {context.record, 0, 0, 0};
    given += size;
  }
};

}  // namespace millrace::transforms
