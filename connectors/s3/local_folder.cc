// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/local_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "millrace/base/printable.h"

namespace millrace::s3_source {

Result<void> check_local_folder(const StoreUrl& url) {
  if (url.scheme != "file") return {};
  const std::string path = "/" + url.key;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) {
    return fail(Error::fatal(ErrorCode::not_found,
                             fmt::format("there is no folder {}, so {} has nothing to read; check the path",
                                         printable(folder), url.to_string())));
  }
  if (path != folder && std::filesystem::is_directory(path, unknown)) {
    return fail(Error::fatal(ErrorCode::config,
                             fmt::format("{0} is a folder, and without a slash at its end the url also takes all that "
                                         "begins like it: write {0}/",
                                         url.to_string())));
  }
  return {};
}

}  // namespace millrace::s3_source
