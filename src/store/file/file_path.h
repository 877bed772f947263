// SPDX-License-Identifier: Apache-2.0
// Keys as paths, and what the kernel says of a path. Pure but for stat.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace {

/// True when a file can have this key: no empty, "." or ".." segment, no NUL, no slash at either end. Such paths are
/// other names of something (or name a folder), and keys are never normalised (A05).
[[nodiscard]] bool is_file_key(std::string_view key) noexcept;

/// `root` and `key` as a path. `root` ends with a slash.
[[nodiscard]] std::string path_of(std::string_view root, std::string_view key);

/// The folder of a path, with its slash.
[[nodiscard]] std::string_view folder_of(std::string_view path) noexcept;

/// Names one content of one file: inode, time of the last change, size.
[[nodiscard]] ETag tag_of(const struct stat& status);
[[nodiscard]] UnixMicros modified(const struct stat& status);

}  // namespace millrace
