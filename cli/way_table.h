// SPDX-License-Identifier: Apache-2.0
// The data's way as people read it, and as programs do. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/data_way.h"

namespace millrace::cli {

/// How long a payload was taken to be, for the line below the table.
struct RecordBound {
  std::uint64_t bytes = 0;
  std::string option;  ///< that sets it; empty: none does
};

/// A row a stage: number, stage, thread, what stands there; under it what it holds, as in a plan.
[[nodiscard]] std::string way_text(const DataWay& way, const RecordBound& record);

/// One document: `stages`, `beside`, `record`, and behind them the members of `more`, a JSON object or empty.
[[nodiscard]] std::string way_json(const DataWay& way, const RecordBound& record, std::string_view more);

}  // namespace millrace::cli
