// SPDX-License-Identifier: Apache-2.0
// What every store holds an upload to, whatever it is kept in. Messages name no object: the caller puts it in front.
// Pure functions; any thread.
#pragma once

#include <span>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "millrace/store/part_plan.h"

#pragma GCC visibility push(default)  // to the component of the S3 store
namespace millrace {

/// `limit` when no part has this number.
[[nodiscard]] Result<void> check_part_number(int number, int most_parts = kMostParts);

/// invalid_request when these parts make no object: there are none, they are not in ascending order, one lacks the
/// checksum that the upload was begun with, or the condition is on an exact version.
[[nodiscard]] Result<void> check_completion(ChecksumKind checksum, std::span<const PartResult> parts,
                                            PutCondition condition);

}  // namespace millrace
#pragma GCC visibility pop
