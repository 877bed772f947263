// SPDX-License-Identifier: Apache-2.0
#include "millrace/framing/frame_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <optional>
#include <utility>

#include "framing/chunk_window.h"
#include "framing/decoded_window.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

struct FreeHash {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

}  // namespace

struct FrameReader::State {
  State(std::unique_ptr<Framer> framer_of_lane, const FrameReaderOptions& options)
      : framer(std::move(framer_of_lane)),
        plain(options.window_bytes),
        decoded(options.window_bytes),
        hash(options.digest ? XXH3_createState() : nullptr) {}

  const std::unique_ptr<Framer> framer;
  framing::ChunkWindow plain;
  framing::DecodedWindow decoded;
  const std::unique_ptr<XXH3_state_t, FreeHash> hash;  // null: nobody asks
  Decompressor* decompressor = nullptr;                // null: `plain` is in use
  bool wants_chunk = false;
  bool ended = false;     // push_end() was called
  bool whole = false;     // and nothing can follow the window: the decompressor has agreed
  bool finished = false;  // and the framer has seen the end
  bool lent = false;      // frames are out
  std::optional<Error> error;
  std::uint64_t stored_bytes = 0;

  [[nodiscard]] std::string_view window() const { return decompressor ? decoded.window() : plain.window(); }
  [[nodiscard]] bool at_end() const { return decompressor ? whole : ended && plain.at_chunk_end(); }
  [[nodiscard]] std::uint64_t decoded_bytes() const { return decompressor ? decoded.decoded_bytes() : stored_bytes; }

  Result<Status> next(std::size_t max_frames, Frames& frames);
  Result<bool> frame_window(std::size_t max_frames, Frames& frames);
  Result<bool> extend();
  Error located(const Error& stage_error) const;
};

FrameReader::FrameReader(std::unique_ptr<Framer> framer, FrameReaderOptions options)
    : state_(std::make_unique<State>(std::move(framer), options)) {
  MILLRACE_CHECK(options.window_bytes > 0, "a window holds at least one byte");
  state_->finished = true;
}
FrameReader::~FrameReader() = default;

void FrameReader::start(Decompressor* decompressor) {
  State& state = *state_;
  state.plain.reset();
  state.decoded.stop();
  state.framer->reset();
  state.decompressor = decompressor;
  if (decompressor != nullptr) state.decoded.start(*decompressor);
  state.wants_chunk = true;
  state.ended = state.whole = state.finished = state.lent = false;
  state.error.reset();
  state.stored_bytes = 0;
  if (state.hash) XXH3_64bits_reset(state.hash.get());
}

bool FrameReader::wants_chunk() const noexcept { return state_->wants_chunk; }
bool FrameReader::finished() const noexcept { return state_->finished && !state_->error; }
std::shared_ptr<const Columns> FrameReader::columns() const { return state_->framer->columns(); }
std::uint64_t FrameReader::stored_bytes() const noexcept { return state_->stored_bytes; }
std::uint64_t FrameReader::decoded_bytes() const noexcept { return state_->decoded_bytes(); }
std::uint64_t FrameReader::trailing_zeros() const noexcept {
  return state_->decompressor != nullptr ? state_->decompressor->trailing_zeros() : 0;
}

std::uint64_t FrameReader::digest() const noexcept { return state_->hash ? XXH3_64bits_digest(state_->hash.get()) : 0; }

void FrameReader::push(ByteChunk chunk, bool last) {
  State& state = *state_;
  MILLRACE_CHECK(state.wants_chunk, "a chunk may be pushed after start() and after needs_chunk");
  state.wants_chunk = false;
  state.ended = last;
  state.stored_bytes += chunk.size();
  if (state.decompressor != nullptr) {
    state.decoded.push(std::move(chunk));
  } else {
    state.plain.push(std::move(chunk));
  }
}

void FrameReader::push_end() {
  MILLRACE_CHECK(state_->wants_chunk, "the end may be pushed after start() and after needs_chunk");
  state_->wants_chunk = false;
  state_->ended = true;
}

Result<FrameReader::Status> FrameReader::next(std::size_t max_frames, Frames& frames) {
  MILLRACE_CHECK(max_frames > 0, "ask for at least one frame");
  frames.clear();
  State& state = *state_;
  if (state.lent) {
    state.lent = false;
    state.decompressor != nullptr ? state.decoded.retire() : state.plain.retire();
  }
  if (state.error) return fail(*state.error);
  auto status = state.next(max_frames, frames);
  if (!status) {
    state.error = state.located(status.error());
    state.finished = true;
    if (frames.empty()) return fail(*state.error);
    status = Status::frames;
  }
  state.lent = !frames.empty();
  return status;
}

// Frames the window, makes it longer where that brought nothing, and so on until there are frames or no more bytes.
Result<FrameReader::Status> FrameReader::State::next(std::size_t max_frames, Frames& frames) {
  if (finished) return Status::end;
  if (wants_chunk) return Status::needs_chunk;
  for (;;) {
    MILLRACE_ASSIGN(const bool another, frame_window(max_frames, frames));
    if (another) continue;
    if (!frames.empty()) return Status::frames;
    if (finished) return Status::end;
    MILLRACE_ASSIGN(const bool longer, extend());
    if (!longer && !at_end()) {
      wants_chunk = true;
      return Status::needs_chunk;
    }
  }
}

// True when there is more to frame without more bytes: a record was put together and the chunk goes on behind it, or
// the framer only skipped something.
Result<bool> FrameReader::State::frame_window(std::size_t max_frames, Frames& frames) {
  const bool assembling = decompressor == nullptr && plain.assembling();
  const bool end = at_end();
  const std::string_view bytes = window();
  const std::size_t before = frames.size();
  const std::size_t most = assembling ? 1 : max_frames - before;
  MILLRACE_ASSIGN(const std::size_t consumed, framer->frame(bytes, end, most, frames));
  MILLRACE_CHECK(consumed <= bytes.size() && frames.size() - before <= most, "a framer took more than it was given");
  if (hash) XXH3_64bits_update(hash.get(), bytes.data(), consumed);
  decompressor != nullptr ? decoded.consume(consumed) : plain.consume(consumed);
  const std::size_t framed = frames.size() - before;
  if (end && framed < most && consumed == bytes.size()) {
    MILLRACE_ASSIGN(const std::size_t more, framer->frame(bytes.substr(consumed), true, 1, frames));
    MILLRACE_CHECK(more == 0 && frames.size() - before == framed, "a framer made something of nothing");
    finished = true;
    return false;
  }
  MILLRACE_CHECK(!end || framed != 0 || consumed != 0, "a framer left bytes at the end of the stream");
  if (framed == 0) return consumed != 0;
  return assembling && frames.size() < max_frames;
}

Result<bool> FrameReader::State::extend() {
  if (decompressor == nullptr) return plain.extend();
  MILLRACE_ASSIGN(const bool longer, decoded.extend());
  if (longer || !ended) return longer;
  MILLRACE_TRY(decompressor->finish());
  whole = true;
  return false;
}

Error FrameReader::State::located(const Error& stage_error) const {
  const std::uint64_t decoded_offset = decoded_bytes() - (decompressor ? window().size() : plain.unconsumed());
  return Error(stage_error)
      .with_message(fmt::format("{} (decoded byte {}, {} {})", stage_error.message(), decoded_offset,
                                framer->position_unit(), framer->position()))
      .with("decoded_offset", fmt::format("{}", decoded_offset));
}

}  // namespace millrace
