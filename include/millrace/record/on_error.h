// SPDX-License-Identifier: Apache-2.0
// OnError: the two record policies (INV-6). A skipped record is counted under its reason; a failing one ends the run,
// and nothing after it is committed.
#pragma once

#pragma GCC visibility push(default)
namespace millrace {

/// What becomes of a bad record. `fail` is the default at every stage.
enum class OnError { fail, skip };

}  // namespace millrace
#pragma GCC visibility pop
