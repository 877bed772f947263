// SPDX-License-Identifier: Apache-2.0
// DescriptorWriter: sealed batches to a file descriptor, whole and in order. Belongs to one I/O thread; cancel() may
// come from any. Does not own the descriptor.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "millrace/base/sync.h"
#include "millrace/sink/writer.h"

namespace millrace::stdout_sink {

class DescriptorWriter final : public Writer {
 public:
  /// Fails when the descriptor is closed.
  [[nodiscard]] static Result<std::unique_ptr<Writer>> make(int descriptor);
  ~DescriptorWriter() override;

  /// True when the descriptor's bytes outlive the machine's next crash once they are synced: a file or a disk.
  [[nodiscard]] static bool keeps_bytes(int descriptor);

  /// A process that died in the middle of a write left a line without its end, and what is written next would be glued
  /// to it: ends that line. True when there was one. Looks at regular files only; fails when one cannot be looked at.
  [[nodiscard]] static Result<bool> end_torn_line(int descriptor);

  /// Success: a file or a disk has the bytes durably; of anything else (a pipe, a terminal, a socket) the kernel has
  /// taken every byte, for the reader to answer for. A reader that has gone away is fatal (closed). A try that failed
  /// half-way goes on where it was when the same batch comes again.
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch) override;
  void cancel() override;

 private:
  DescriptorWriter(int descriptor, int wake, std::size_t piece) : descriptor_(descriptor), wake_(wake), piece_(piece) {}
  [[nodiscard]] Result<void> wait_until_writable() const;
  [[nodiscard]] Result<void> sync() const;
  [[nodiscard]] Error failed(int error_number) const;

  const int descriptor_;
  const int wake_;           ///< an eventfd that cancel() signals
  const std::size_t piece_;  ///< what one write() may take without blocking; 0: anything, and to be synced
  Atomic<bool> cancelled_{false};
  std::optional<IdempotencyToken> token_;  ///< of the batch that `done_` counts
  std::size_t done_ = 0;
};

}  // namespace millrace::stdout_sink
