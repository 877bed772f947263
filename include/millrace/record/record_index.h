// SPDX-License-Identifier: Apache-2.0
// record_index: which record of its object a record is, for operators and encoders that tell where one came from. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// From 0, counted as the object is framed: blank lines and a header are none. All that an operator makes of one record
/// have its index. Nothing where the source reads no objects.
[[nodiscard]] inline std::optional<std::uint64_t> record_index(const RecordMeta& meta) {
  if (meta.origin == nullptr || meta.origin->object.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(meta.offset.value() - meta.origin->first_offset.value());
}

}  // namespace millrace
#pragma GCC visibility pop
