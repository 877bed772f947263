// SPDX-License-Identifier: Apache-2.0
// OpenFileSet: the open files of a LaneSink, which may be ten thousand. Finding one, taking one out, knowing which was
// not used for longest and what all of them hold cost the same however many there are. Belongs to a LaneSink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "millrace/sink/open_file.h"

namespace millrace {

class OpenFileSet {
 public:
  using List = std::list<std::unique_ptr<OpenFile>>;

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }
  /// In the order in which they were opened.
  [[nodiscard]] const List& all() const noexcept { return files_; }
  [[nodiscard]] OpenFile& front() const noexcept { return *files_.front(); }
  /// The file of these records; null when there is none.
  [[nodiscard]] OpenFile* find(std::int64_t bucket, std::string_view route) const noexcept;
  /// Its series is set and is that of no other.
  void add(std::unique_ptr<OpenFile> file);
  /// It is no longer open.
  [[nodiscard]] std::unique_ptr<OpenFile> take(OpenFile& file) noexcept;
  /// Records go to this one now: it is the one used last, and what it holds changes.
  void use(OpenFile& file);
  /// The one not used for longest that may be ended for others; null when there is none.
  [[nodiscard]] OpenFile* unused_longest() const noexcept;
  /// What they hold, in bytes of memory. Looks at those that were used since it was asked last.
  [[nodiscard]] std::size_t memory();
  /// To be called when what a file holds has changed otherwise than by records.
  void recount(OpenFile& file) noexcept;
  void clear() noexcept;

 private:
  struct Key {
    std::int64_t bucket;
    std::string_view route;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept;
    std::size_t operator()(const OpenFile* file) const noexcept;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const OpenFile* one, const OpenFile* other) const noexcept { return one == other; }
    bool operator()(const Key& key, const OpenFile* file) const noexcept {
      return file->chunk.series.is(key.bucket, key.route);
    }
  };

  void touch(OpenFile& file);

  List files_;
  std::unordered_set<OpenFile*, Hash, Equal> by_series_;
  std::list<OpenFile*> by_use_;     ///< the one used last at the back
  std::vector<OpenFile*> touched_;  ///< used since memory() was asked
  std::size_t memory_ = 0;
};

}  // namespace millrace
