// SPDX-License-Identifier: Apache-2.0
// Making a file appear, be replaced, or go, in one step that survives a crash. Blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"
#include "store/file/file_write.h"

namespace millrace {

struct FilePut {
  std::string_view path;  ///< of the object
  std::string_view body;
  PutCondition condition = PutCondition::none;
  ETag etag;
  std::string temporary;                    ///< a name of its own for this put, without folder
  std::int64_t modified_ns;                 ///< the file's time
  std::vector<FilePart> parts{};            ///< behind the body
  const Atomic<bool>* cancelled = nullptr;  ///< if given, true ends the copying of parts
};

/// Makes the folders that are missing. Success: the file and its name are on the disk.
[[nodiscard]] Result<ETag> put_file(const FilePut& put);

/// Success also when there was none.
[[nodiscard]] Result<void> remove_file(std::string_view path);

}  // namespace millrace
