// SPDX-License-Identifier: Apache-2.0
// Spool and SpillFile: where the bytes of open files go when they do not fit into memory. All of them lie in one file
// without a name: ten thousand need one descriptor, nothing is left behind whatever ends the process, and two processes
// may share a folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

class SpillFile;

/// A file in a folder, and how much of it may be used. Given out in extents, which double in size from one of a spill
/// file to its next; what is given back is used again, and until then up to kKept of it stay on disk. Thread-safe;
/// outlived by nothing that it made.
class Spool : public std::enable_shared_from_this<Spool> {
 public:
  /// Fails (config) when no file can be made in `folder`. `limit`: bytes; 0: none.
  [[nodiscard]] static Result<std::shared_ptr<Spool>> open(std::string folder, std::uint64_t limit);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  [[nodiscard]] std::unique_ptr<SpillFile> create();
  [[nodiscard]] std::uint64_t used() const noexcept { return used_.load(memory_order_relaxed); }

 private:
  friend class SpillFile;
  struct Extent {
    std::uint64_t at = 0;
    std::uint64_t on_disk = 0;  ///< bytes from its begin that were written since it was last made a hole
  };
  static constexpr std::uint64_t kFirstExtent = std::uint64_t{64} << 10U;
  static constexpr std::size_t kExtentSizes = 17;  ///< the largest has 4 GiB, so that the largest object has 1,300
  static constexpr std::uint64_t kKept = std::uint64_t{64} << 20U;
  Spool(std::string folder, std::uint64_t limit, int descriptor)
      : folder_(std::move(folder)), limit_(limit), descriptor_(descriptor) {}
  [[nodiscard]] Result<void> take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, memory_order_relaxed); }
  /// Bytes of a spill file's extent number `index`.
  [[nodiscard]] static std::uint64_t extent_size(std::size_t index) noexcept;
  [[nodiscard]] Extent take_extent(std::size_t index);
  /// All of one spill file, in order.
  void give_back_extents(std::vector<Extent>& extents) noexcept;

  const std::string folder_;
  const std::uint64_t limit_;
  const int descriptor_;
  Atomic<std::uint64_t> used_{0};
  Mutex mutex_;
  std::uint64_t end_ MILLRACE_GUARDED_BY(mutex_) = 0;   ///< no extent lies behind it
  std::uint64_t kept_ MILLRACE_GUARDED_BY(mutex_) = 0;  ///< bytes of the free ones that are on disk still
  std::array<std::vector<Extent>, kExtentSizes> free_ MILLRACE_GUARDED_BY(mutex_);  ///< by size
};

/// Bytes on disk, appended to and then read. One thread at a time.
class SpillFile {
 public:
  explicit SpillFile(std::shared_ptr<Spool> spool) : spool_(std::move(spool)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// All of it or, with an error (out_of_space, io), nothing. Not after map().
  [[nodiscard]] Result<void> append(std::string_view bytes);
  /// With the end, once it is mapped.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_ + end_; }
  /// All bytes with `end` behind them, as one; valid as long as this is. What is on disk is mapped and needs no memory
  /// of its own; `end` is copied, by the first call, which alone counts. Fails (io, retryable).
  [[nodiscard]] Result<std::string_view> map(std::string_view end);

 private:
  [[nodiscard]] int map_extents(char* at) const noexcept;

  const std::shared_ptr<Spool> spool_;
  std::vector<Spool::Extent> extents_;  ///< all but the last are full
  std::uint64_t room_ = 0;              ///< bytes in all of them
  std::uint64_t size_ = 0;              ///< on disk
  std::uint64_t end_ = 0;               ///< behind it, in what is mapped
  void* mapped_ = nullptr;
};

}  // namespace millrace
#pragma GCC visibility pop
