// SPDX-License-Identifier: Apache-2.0
// Which process keeps a manifest, and whether another one that kept it is gone. Any thread.
#pragma once

#include "connectors/s3/manifest.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

/// This process as the owner of a manifest, with a new id.
[[nodiscard]] Owner this_process(Clock& clock, Random& random);

/// True only when it is certain: `owner` ran on this machine (same boot) in this pid namespace, and the process is
/// there no more, even if its pid was given to another.
[[nodiscard]] bool is_gone(const Owner& owner);

}  // namespace millrace::s3_source
