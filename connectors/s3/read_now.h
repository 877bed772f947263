// SPDX-License-Identifier: Apache-2.0
// One read, waited for on the caller's thread. Blocks; any thread that may.
#pragma once

#include "millrace/store/object_store.h"

namespace millrace {

[[nodiscard]] ReadOutcome read_now(ObjectStore& store, ReadRequest request);

}  // namespace millrace
