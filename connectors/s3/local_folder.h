// SPDX-License-Identifier: Apache-2.0
// What a file:// source must find before it lists anything. A bucket's prefix is a string and may match nothing; a path
// on this machine is a folder in the mind of whoever typed it. I/O threads.
#pragma once

#include "millrace/base/result.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_source {

/// Fails (not_found) when the folder of a file:// url is not there, and (config) when the url names a folder without
/// its last slash, which would also take the neighbours that begin like it. Any other scheme passes.
[[nodiscard]] Result<void> check_local_folder(const StoreUrl& url);

}  // namespace millrace::s3_source
