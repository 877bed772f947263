// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_path.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace {

bool is_file_key(std::string_view key) noexcept {
  if (key.empty() || key.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view segment = key.substr(begin, end - begin);
    if (segment.empty() || segment == "." || segment == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string path_of(std::string_view root, std::string_view key) {
  std::string path;
  path.reserve(root.size() + key.size());
  return path.append(root).append(key);
}

std::string_view folder_of(std::string_view path) noexcept { return path.substr(0, path.rfind('/') + 1); }

ETag tag_of(const struct stat& status) {
  return ETag{fmt::format("\"{:x}-{:x}-{:x}\"", status.st_ino,
                          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                          status.st_size)};
}

UnixMicros modified(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000 + status.st_mtim.tv_nsec / 1000;
}

}  // namespace millrace
