// SPDX-License-Identifier: Apache-2.0
// Where a record came from, in words, for messages. Never on the per-record path.
#pragma once

#include <string>

#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// "record 3 of logs/in/a.ndjson (partition 0, offset 2)" for a record of an object, counted from 1 as the framer
/// counts records (blank lines do not count); "offset 7 of partition 2 (orders/eu)" for any other.
[[nodiscard]] std::string record_place(const RecordMeta& meta);

}  // namespace millrace
#pragma GCC visibility pop
