// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/open_file_set.h"

#include <functional>
#include <utility>

namespace millrace {

std::size_t OpenFileSet::Hash::operator()(const Key& key) const noexcept {
  // The odd factor spreads hours and days, which follow one another.
  return std::hash<std::string_view>{}(key.route) ^ (static_cast<std::size_t>(key.bucket) * 0x9E3779B97F4A7C15U);
}

std::size_t OpenFileSet::Hash::operator()(const OpenFile* file) const noexcept {
  return (*this)(Key{file->chunk.series.bucket, file->chunk.series.route});
}

OpenFile* OpenFileSet::find(std::int64_t bucket, std::string_view route) const noexcept {
  const auto found = by_series_.find(Key{bucket, route});
  return found == by_series_.end() ? nullptr : *found;
}

void OpenFileSet::add(std::unique_ptr<OpenFile> file) {
  OpenFile* const one = file.get();
  files_.push_back(std::move(file));
  one->place = std::prev(files_.end());
  by_use_.push_back(one);
  one->use = std::prev(by_use_.end());
  by_series_.insert(one);
  one->counted = 0;
  one->touched = false;
  use(*one);
}

std::unique_ptr<OpenFile> OpenFileSet::take(OpenFile& file) noexcept {
  by_series_.erase(&file);
  by_use_.erase(file.use);
  if (file.touched) std::erase(touched_, &file);
  memory_ -= std::exchange(file.counted, 0);
  std::unique_ptr<OpenFile> taken = std::move(*file.place);
  files_.erase(file.place);
  return taken;
}

void OpenFileSet::use(OpenFile& file) {
  by_use_.splice(by_use_.end(), by_use_, file.use);
  if (std::exchange(file.touched, true)) return;
  touched_.push_back(&file);
}

OpenFile* OpenFileSet::unused_longest() const noexcept {
  for (OpenFile* file : by_use_) {
    if (!file->cut) return file;
  }
  return nullptr;
}

std::size_t OpenFileSet::memory() noexcept {
  OpenFile* const last = by_use_.empty() ? nullptr : by_use_.back();
  for (OpenFile* file : touched_) {
    recount(*file);
    file->touched = false;
  }
  touched_.clear();
  // It may go on being used without another word.
  if (last != nullptr) {
    last->touched = true;
    touched_.push_back(last);
  }
  return memory_;
}

void OpenFileSet::recount(OpenFile& file) noexcept {
  const std::size_t now = file.memory();
  memory_ += now - std::exchange(file.counted, now);
}

void OpenFileSet::clear() noexcept {
  touched_.clear();
  by_series_.clear();
  by_use_.clear();
  files_.clear();
  memory_ = 0;
}

}  // namespace millrace
