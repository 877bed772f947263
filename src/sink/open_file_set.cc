// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/open_file_set.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t kFirstSlots = 16;

std::size_t hash_of(std::int64_t bucket, std::string_view route) noexcept {
  // The odd factor spreads hours and days, which follow one another; its upper bits are the ones that differ most.
  const auto spread = static_cast<std::uint64_t>(bucket) * 0x9E3779B97F4A7C15U;
  return std::hash<std::string_view>{}(route) ^ static_cast<std::size_t>(spread >> 32U);
}

}  // namespace

OpenFile* OpenFileSet::find(std::int64_t bucket, std::string_view route) const noexcept {
  if (size_ == 0) return nullptr;
  const std::size_t hash = hash_of(bucket, route);
  OpenFile* file = slots_[hash & (slots_.size() - 1)];
  // Of files that are cold only the hash is looked at.
  while (file != nullptr && (file->hash != hash || !file->chunk.series.is(bucket, route))) file = file->next_in_slot;
  return file;
}

void OpenFileSet::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), nullptr);
  for (OpenFile* file : opened_) file->next_in_slot = std::exchange(slot_of(file->hash), file);
}

void OpenFileSet::add(std::unique_ptr<OpenFile> file) {
  if (size_ == slots_.size()) grow();
  OpenFile& one = *file.release();
  ++size_;
  one.hash = hash_of(one.chunk.series.bucket, one.chunk.series.route);
  one.next_in_slot = std::exchange(slot_of(one.hash), &one);
  opened_.append(one);
  used_.append(one);
  one.counted = 0;
  one.touched = OpenFile::kUntouched;
  touch(one);
}

std::unique_ptr<OpenFile> OpenFileSet::take(OpenFile& file) noexcept {
  OpenFile** at = &slot_of(file.hash);
  while (*at != &file) at = &(*at)->next_in_slot;
  *at = file.next_in_slot;
  opened_.remove(file);
  used_.remove(file);
  --size_;
  if (file.touched != OpenFile::kUntouched) {
    touched_[file.touched] = touched_.back();
    touched_[file.touched]->touched = file.touched;
    touched_.pop_back();
  }
  memory_ -= std::exchange(file.counted, 0);
  return std::unique_ptr<OpenFile>(&file);
}

void OpenFileSet::use(OpenFile& file) {
  if (used_.last() != &file) {
    used_.remove(file);
    used_.append(file);
  }
  touch(file);
}

void OpenFileSet::touch(OpenFile& file) {
  if (file.touched != OpenFile::kUntouched) return;
  file.touched = touched_.size();
  touched_.push_back(&file);
}

OpenFile* OpenFileSet::unused_longest() const noexcept {
  for (OpenFile* file : used_) {
    if (!file->cut) return file;
  }
  return nullptr;
}

std::size_t OpenFileSet::memory() {
  for (OpenFile* file : touched_) {
    recount(*file);
    file->touched = OpenFile::kUntouched;
  }
  touched_.clear();
  // It may go on being used without another word.
  if (used_.last() != nullptr) touch(*used_.last());
  return memory_;
}

void OpenFileSet::recount(OpenFile& file) noexcept {
  const std::size_t now = file.memory();
  memory_ += now - std::exchange(file.counted, now);
}

void OpenFileSet::clear() noexcept {
  while (opened_.first() != nullptr) take(*opened_.first()).reset();
}

}  // namespace millrace
