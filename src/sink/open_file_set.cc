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
  return file->hash;  // a walk along a chain looks at no route that is cold
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
  one->hash = Hash{}(Key{one->chunk.series.bucket, one->chunk.series.route});
  by_series_.insert(one);
  one->counted = 0;
  one->touched = OpenFile::kUntouched;
  use(*one);
}

std::unique_ptr<OpenFile> OpenFileSet::take(OpenFile& file) noexcept {
  by_series_.erase(&file);
  by_use_.erase(file.use);
  if (file.touched != OpenFile::kUntouched) {
    touched_[file.touched] = touched_.back();
    touched_[file.touched]->touched = file.touched;
    touched_.pop_back();
  }
  memory_ -= std::exchange(file.counted, 0);
  std::unique_ptr<OpenFile> taken = std::move(*file.place);
  files_.erase(file.place);
  return taken;
}

void OpenFileSet::use(OpenFile& file) {
  by_use_.splice(by_use_.end(), by_use_, file.use);
  touch(file);
}

void OpenFileSet::touch(OpenFile& file) {
  if (file.touched != OpenFile::kUntouched) return;
  file.touched = touched_.size();
  touched_.push_back(&file);
}

OpenFile* OpenFileSet::unused_longest() const noexcept {
  for (OpenFile* file : by_use_) {
    if (!file->cut) return file;
  }
  return nullptr;
}

std::size_t OpenFileSet::memory() {
  OpenFile* const last = by_use_.empty() ? nullptr : by_use_.back();
  for (OpenFile* file : touched_) {
    recount(*file);
    file->touched = OpenFile::kUntouched;
  }
  touched_.clear();
  // It may go on being used without another word.
  if (last != nullptr) touch(*last);
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
