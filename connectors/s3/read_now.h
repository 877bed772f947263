// SPDX-License-Identifier: Apache-2.0
// One read, waited for on the caller's thread. Blocks; any thread that may.
#pragma once

#include "millrace/store/object_store.h"

namespace millrace {

/// Takes the place of request.done; request.destination outlives the call. Ends when the store ends the read (its
/// timeouts), and is not to be stopped. Errors are those of the read, in the outcome.
[[nodiscard]] ReadOutcome read_now(ObjectStore& store, ReadRequest request);

}  // namespace millrace
