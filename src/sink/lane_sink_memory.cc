// SPDX-License-Identifier: Apache-2.0
// What the open files of a lane hold in memory: packed as they grow, spilled or sealed when it is too much.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "millrace/sink/lane_sink.h"

namespace millrace {
namespace {

/// Open files by what giving one up would gain, most first; without those that gain nothing.
class FilesByGain {
 public:
  template <class Gain>
  FilesByGain(const OpenFileSet& files, Gain gain) {
    for (OpenFile* file : files.all()) {
      if (const std::size_t bytes = gain(*file); bytes > 0) heap_.emplace_back(bytes, file);
    }
    std::ranges::make_heap(heap_);
  }
  /// Null behind the last one.
  [[nodiscard]] OpenFile* next() {
    if (heap_.empty()) return nullptr;
    std::ranges::pop_heap(heap_);
    OpenFile* const file = heap_.back().second;
    heap_.pop_back();
    return file;
  }

 private:
  std::vector<std::pair<std::size_t, OpenFile*>> heap_;
};

}  // namespace

void LaneSink::pack(OpenFile& file) {
  ByteBuffer& bytes = file.chunk.bytes;
  file.encoded += file.whole;
  compressor_->compress(bytes.view().substr(0, file.whole), file.packed);
  bytes.clear();
  file.whole = 0;
  look_again_at(file);
}

std::size_t LaneSink::spillable(const OpenFile& file) const noexcept {
  return compressor_ ? file.packed.size() : file.whole;
}

/// False when there is nothing to spill, or nowhere to, which is said once.
bool LaneSink::spill(OpenFile& file) {
  Spool* spool = options_.budget->spool();
  if (spool == nullptr) return false;
  // Only whole blocks: one that ended where memory was short would make other bytes of the same records, which a replay
  // would not know again.
  ByteBuffer& bytes = compressor_ ? file.packed : file.chunk.bytes;
  const std::size_t whole = spillable(file);
  if (whole == 0) return false;
  if (!file.spilled) file.spilled = spool->create();
  if (auto put = file.spilled->append(bytes.view().substr(0, whole)); !put) {
    if (file.spilled && file.spilled->size() == 0) file.spilled.reset();
    if (!std::exchange(warned_of_spool_, true)) {
      options_.log.warn(
          "open files cannot spill; they are sealed early in its place, so there are more and smaller ones",
          {{"error", put.error().describe()}});
    }
    return false;
  }
  warned_of_spool_ = false;
  if (!compressor_) {
    file.encoded += whole;
    file.whole = 0;
  }
  bytes = ByteBuffer();
  look_again_at(file);
  return true;
}

/// Tells the budget what is held, and gives up the largest files while that is too much.
void LaneSink::share_memory() {
  if (!options_.budget) return;
  const auto tell = [&] {
    const std::size_t now = files_.memory() + (fresh_ ? fresh_->memory() : 0) + sealed_memory_;
    options_.budget->change(std::exchange(memory_, now), now);
  };
  const auto yields = [this] { return options_.budget->must_yield(memory_); };
  const auto drop_fresh = [&] {
    if (fresh_ && fresh_.get() != current_) fresh_.reset();
    tell();
  };
  tell();
  if (!yields()) return;
  drop_fresh();
  // A look at all of them pays when it frees more than the next records take: an eighth of the share, as long as more
  // is held than that.
  const std::size_t share = options_.budget->share();
  const std::size_t aim = std::max(share / 8 * 7, memory_ - std::min(memory_, share / 8));
  const auto by_spilling = [this](const OpenFile& file) { return spillable(file) > 0 ? file.memory() : 0; };
  for (FilesByGain files(files_, by_spilling);;) {
    if (!yields() && (memory_ <= aim || files_.size() == 1)) return;
    OpenFile* const fullest = files.next();
    if (fullest == nullptr || !spill(*fullest)) break;
    files_.recount(*fullest);
    tell();
  }
  // What may not end is bounded by limits: of now, or of the run that began it. What is sealed and not taken yet frees
  // nothing, and sealing more would not either.
  FilesByGain files(files_, [this](const OpenFile& file) { return may_end(file) ? file.memory() : 0; });
  while (yields() && sealed_.empty()) {
    OpenFile* const largest = files.next();
    if (largest == nullptr) return;
    seal_file(*largest, SealReason::pressure);
    drop_fresh();
  }
}

}  // namespace millrace
