// SPDX-License-Identifier: Apache-2.0
// OpenFileSet: the open files of a LaneSink, which may be ten thousand. Finding one, taking one out, knowing which was
// not used for longest and what all of them hold cost the same however many there are. Belongs to a LaneSink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/sink/open_file.h"

#pragma GCC visibility push(default)
namespace millrace {

class OpenFileSet {
  /// Linked through the files themselves, so that opening and ending one allocates nothing.
  template <OpenFile::Links OpenFile::* kLinks>
  class Chain {
   public:
    class Iterator {
     public:
      explicit Iterator(OpenFile* at) noexcept : at_(at) {}
      OpenFile* operator*() const noexcept { return at_; }
      Iterator& operator++() noexcept {
        at_ = (at_->*kLinks).behind;
        return *this;
      }
      friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

     private:
      OpenFile* at_;
    };
    [[nodiscard]] Iterator begin() const noexcept { return Iterator(first_); }
    [[nodiscard]] static Iterator end() noexcept { return Iterator(nullptr); }
    [[nodiscard]] OpenFile* first() const noexcept { return first_; }
    [[nodiscard]] OpenFile* last() const noexcept { return last_; }
    void append(OpenFile& file) noexcept {
      file.*kLinks = {last_, nullptr};
      (last_ == nullptr ? first_ : (last_->*kLinks).behind) = &file;
      last_ = &file;
    }
    void remove(OpenFile& file) noexcept {
      const OpenFile::Links links = file.*kLinks;
      (links.before == nullptr ? first_ : (links.before->*kLinks).behind) = links.behind;
      (links.behind == nullptr ? last_ : (links.behind->*kLinks).before) = links.before;
    }

   private:
    OpenFile* first_ = nullptr;
    OpenFile* last_ = nullptr;
  };

 public:
  OpenFileSet() = default;
  ~OpenFileSet() { clear(); }
  OpenFileSet(const OpenFileSet&) = delete;
  OpenFileSet& operator=(const OpenFileSet&) = delete;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// In the order in which they were opened: pointers, none of them null.
  [[nodiscard]] const auto& all() const noexcept { return opened_; }
  /// Requires !empty().
  [[nodiscard]] OpenFile& front() const noexcept { return *opened_.first(); }
  /// The file of these records; null when there is none.
  [[nodiscard]] OpenFile* find(std::int64_t bucket, std::string_view route) const noexcept;
  /// Its series is set and is that of no other.
  void add(std::unique_ptr<OpenFile> file);
  /// It is no longer open.
  [[nodiscard]] std::unique_ptr<OpenFile> take(OpenFile& file) noexcept;
  /// Records go to this one now: it is the one used last, and what it holds changes.
  void use(OpenFile& file);
  /// The one not used for longest that may be ended for others; null when there is none.
  [[nodiscard]] OpenFile* unused_longest() const noexcept;
  /// What they hold, in bytes of memory. Looks at those that were used since it was asked last.
  [[nodiscard]] std::size_t memory();
  /// To be called when what a file holds has changed otherwise than by records.
  void recount(OpenFile& file) noexcept;
  void clear() noexcept;

 private:
  [[nodiscard]] OpenFile*& slot_of(std::size_t hash) noexcept { return slots_[hash & (slots_.size() - 1)]; }
  void grow();
  void touch(OpenFile& file);

  std::size_t size_ = 0;
  Chain<&OpenFile::opened> opened_;  // owns them
  Chain<&OpenFile::used> used_;      ///< the one used last at its end
  std::vector<OpenFile*> slots_;     ///< by series; a power of two of them, or none
  std::vector<OpenFile*> touched_;   ///< used since memory() was asked
  std::size_t memory_ = 0;
};

}  // namespace millrace
#pragma GCC visibility pop
