// SPDX-License-Identifier: Apache-2.0
// Spool and SpillFile: where the bytes of open files go when they do not fit into memory. A spill file has no name, so
// nothing is left behind whatever ends the process, and two processes may share a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"

namespace millrace {

class SpillFile;

/// A folder and how much of it may be used. Thread-safe; outlived by nothing that it opened.
class Spool : public std::enable_shared_from_this<Spool> {
 public:
  /// Fails (config) when no file can be made in `folder`. `limit`: bytes; 0: none.
  [[nodiscard]] static Result<std::shared_ptr<Spool>> open(std::string folder, std::uint64_t limit);
  [[nodiscard]] Result<std::unique_ptr<SpillFile>> create();
  [[nodiscard]] std::uint64_t used() const noexcept { return used_.load(memory_order_relaxed); }

 private:
  friend class SpillFile;
  Spool(std::string folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  [[nodiscard]] Result<void> take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, memory_order_relaxed); }

  const std::string folder_;
  const std::uint64_t limit_;
  Atomic<std::uint64_t> used_{0};
};

/// Bytes on disk, appended to and then read. One thread at a time.
class SpillFile {
 public:
  SpillFile(std::shared_ptr<Spool> spool, int descriptor) : spool_(std::move(spool)), descriptor_(descriptor) {}
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
  const std::shared_ptr<Spool> spool_;
  const int descriptor_;
  std::uint64_t size_ = 0;  ///< on disk
  std::uint64_t end_ = 0;   ///< behind it, in what is mapped
  void* mapped_ = nullptr;
};

}  // namespace millrace
