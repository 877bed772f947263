// SPDX-License-Identifier: Apache-2.0
// FileWalk: the files under a prefix, in the byte order of their keys, a page at a time. Holds the names of the folders
// on the way to where it stands, so a page does not read what an earlier page has read. One thread at a time.
//
// Symbolic links are followed, since what they lead to can be read by its key; a link back into a folder above it and a
// link to nothing are errors, for data could hide behind both. FIFOs, sockets and devices are skipped and told. Names
// that begin with a dot are not listed, unless the prefix spells that segment out.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace {

class FileWalk {
 public:
  /// `root` ends with a slash. Only keys greater than `after` come.
  FileWalk(std::string root, std::string prefix, std::string after, Logger log);

  /// Up to `limit` more objects; fewer only at the end.
  [[nodiscard]] Result<std::vector<ObjectInfo>> next(std::size_t limit);
  [[nodiscard]] bool ended() const noexcept { return begun_ && levels_.empty(); }

 private:
  struct Name {
    std::uint64_t begin = 0;  ///< in `text`
    std::uint32_t size = 0;   ///< with the slash that ends a folder's
  };
  /// One open folder: its names in byte order, folders with a slash at the end, so that keys come sorted.
  struct Level {
    std::string key;  ///< of the folder, with its slash; empty for the root
    std::string text;
    std::vector<Name> names;
    std::size_t position = 0;
    dev_t device = 0;
    ino_t inode = 0;
    [[nodiscard]] std::string_view name(const Name& n) const { return std::string_view(text).substr(n.begin, n.size); }
  };
  Result<void> begin();
  Result<void> descend(std::string key);
  Result<bool> is_folder(const std::string& key, unsigned char type, bool& skip);
  [[nodiscard]] bool before_start(std::string_view key) const;

  const std::string root_;
  const std::string prefix_;
  const std::string after_;
  Logger log_;
  std::vector<Level> levels_;
  bool begun_ = false;
};

}  // namespace millrace
