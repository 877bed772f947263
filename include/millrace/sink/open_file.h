// SPDX-License-Identifier: Apache-2.0
// OpenFile: a file that still takes records. Its bytes lie in up to three places, in this order: spilled to disk,
// packed (compressed), and as they were encoded, with a record that may be half written at the end. Belongs to a
// LaneSink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "millrace/base/bytes.h"
#include "millrace/encode/encoded_chunk.h"
#include "millrace/sink/spill_file.h"

#pragma GCC visibility push(default)
namespace millrace {

/// A file is packed in blocks of so many encoded bytes and the rest of a record: what they add to a file compressed in
/// one go is below one part in a hundred, and an open file holds no more than one of them unpacked.
inline constexpr std::size_t kPackedBlock = std::size_t{512} << 10U;

struct OpenFile {
  EncodedChunk chunk;       ///< its bytes are those that were neither packed nor spilled
  std::size_t whole = 0;    ///< where the last whole record of them ends
  std::size_t look_at = 0;  ///< from so many of them on the file is to be packed or sealed
  ByteBuffer packed;
  std::unique_ptr<SpillFile> spilled;
  std::uint64_t encoded = 0;  ///< bytes that were packed or spilled, as they were encoded
  std::optional<Offset> cut;  ///< it ends with this record, neither before nor behind: an earlier run began to write it

  // The books of an OpenFileSet.
  struct Links {
    OpenFile* before = nullptr;
    OpenFile* behind = nullptr;
  };
  Links opened{};                    ///< by when it was opened
  Links used{};                      ///< by when it was used last
  OpenFile* next_in_slot = nullptr;  ///< of the table by series
  std::size_t hash = 0;              ///< of the series
  std::size_t counted = 0;           ///< of memory(), in the set's sum
  static constexpr std::size_t kUntouched = std::numeric_limits<std::size_t>::max();
  std::size_t touched = kUntouched;  ///< its place among those whose memory may have changed

  /// Encoded bytes of the file so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return encoded + chunk.bytes.size(); }
  /// Bytes of memory that it holds.
  [[nodiscard]] std::size_t memory() const noexcept { return chunk.bytes.capacity() + packed.capacity(); }
};

}  // namespace millrace
#pragma GCC visibility pop
