// SPDX-License-Identifier: Apache-2.0
// The steps of which a put of a file, or of a part of one, is made. Each blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"
#include "store/file/descriptor.h"

namespace millrace {

/// A new file for writing; makes `folder` (with its slash) and what is missing above it, each durable.
[[nodiscard]] Result<Descriptor> create_in(const std::string& folder, const std::string& path);

// `path` names the open file in messages.

[[nodiscard]] Result<void> write_all(int file, std::string_view body, std::string_view path);

/// A part of an object that lies in a file of its own.
struct FilePart {
  std::string path;
  ETag etag;  ///< what it must be
};
/// invalid_request when the part is missing or another; cancelled, within a slice of it, when `cancelled` says so.
[[nodiscard]] Result<void> append_part(int file, const FilePart& part, std::string_view path,
                                       const Atomic<bool>* cancelled);

/// Sets the file's time: finer than the kernel's own stamps, so that ETags differ.
[[nodiscard]] Result<void> stamp(int file, std::int64_t modified_ns, std::string_view path);
[[nodiscard]] Result<ETag> tag_of_open(int file, std::string_view path);

}  // namespace millrace
