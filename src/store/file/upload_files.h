// SPDX-License-Identifier: Apache-2.0
// UploadFiles: the files of one upload, in the folder of its object: a mark that holds the key, and a file for each
// part, all with dot-names that begin with the upload's id. Each call blocks; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/store/upload.h"

namespace millrace {

struct UploadFiles {
  std::string folder;  ///< with its slash
  std::string id;
  [[nodiscard]] std::string mark() const;
  [[nodiscard]] std::string part(int number) const;
};

/// Of the object at `path`. not_found when the upload has not begun, or has ended.
[[nodiscard]] Result<UploadFiles> find_files(const std::string& path, const UploadId& upload);

/// Removes what is there, also where the mark is gone: a part that came behind an earlier call goes with this one. An
/// id that is none of ours names nothing.
[[nodiscard]] Result<void> remove_files(const std::string& path, const UploadId& upload);

/// Every upload whose key, below `root` (with its slash), begins with `prefix`, in no order. As listings of objects do
/// it, links are followed, and a folder that cannot be looked into is an error: it could hide one.
[[nodiscard]] Result<std::vector<UploadInfo>> find_uploads(const std::string& root, std::string_view prefix);

}  // namespace millrace
