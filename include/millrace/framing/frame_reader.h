// SPDX-License-Identifier: Apache-2.0
// FrameReader: the stored bytes of one object after another, as chunks, to frames. Joins codec and framing:
// decompresses where asked, and shows the framer contiguous windows. A record inside a chunk is framed where it lies; a
// record across chunks is copied once. Owned by a lane and used on its thread only; keeps its memory from object to
// object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "millrace/base/borrow.h"
#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/codec/decompressor.h"
#include "millrace/framing/framer.h"

#pragma GCC visibility push(default)
namespace millrace {

struct FrameReaderOptions {
  /// Decoded bytes handed to the framer at a time: small enough to stay in cache until the batch is decoded and
  /// encoded. One longer record makes it larger for a while.
  std::size_t window_bytes = 256U << 10U;
  bool digest = false;  ///< keep the hash of the decoded bytes; see FrameReader::digest
};

class FrameReader {
 public:
  enum class Status {
    frames,       ///< at least one frame; there may be more
    needs_chunk,  ///< nothing more to frame without push() or push_end()
    end,          ///< the object has been read to its end
  };

  explicit FrameReader(std::unique_ptr<Framer> framer, FrameReaderOptions options = {});
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  /// Begins an object, whatever became of the one before, and resets the framer and `decompressor`, which is borrowed
  /// until the next start(). Null: the stored bytes are the records' bytes.
  void start(Decompressor* decompressor);

  /// True after start() and after next() has said needs_chunk: exactly then push() or push_end() may be called.
  [[nodiscard]] bool wants_chunk() const noexcept;
  /// The object's next bytes. Ends the validity of all frames. The chunk is held until its bytes have been framed; the
  /// beginning of a record at its end is carried into the headroom of the next chunk, where that suffices. Chunks of
  /// one byte or of none are as good as large ones, only slower. With `last` push_end() is implied.
  void push(ByteChunk chunk, bool last = false);
  /// The object has no more bytes.
  void push_end();

  /// Replaces `frames` by the next ones, at most `max_frames` (at least one) and about one window full. The views, and
  /// kBytePadding readable bytes behind each, stay valid until the next call of next(), push() or start(). Every
  /// complete record before damaged bytes is handed out before the error. Errors (corrupt, truncated, too_large, what
  /// the framer says) name the byte of the stored object, the decoded byte and the line; the caller adds the key. After
  /// an error, and after end, only start() goes on.
  [[nodiscard]] Result<Status> next(std::size_t max_frames, Frames& frames) MILLRACE_LIFETIME_BOUND;

  /// True once the next next() can only say end: for a plain object already with its last frames, when its last chunk
  /// was pushed as such.
  [[nodiscard]] bool finished() const noexcept;

  /// What the framer knows of the object's rows (Framer::columns); of this object only.
  [[nodiscard]] std::shared_ptr<const Columns> columns() const;

  /// Since start(): bytes pushed, bytes decoded (equal for a plain object), zero bytes after the last member or frame.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept;
  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept;
  [[nodiscard]] std::uint64_t trailing_zeros() const noexcept;
  /// XXH3 (64 bits) of the decoded bytes that the framer is done with: of all of them once finished() is true. Needs
  /// the option.
  [[nodiscard]] std::uint64_t digest() const noexcept;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
