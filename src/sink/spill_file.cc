// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/spill_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

namespace millrace {
namespace {

Error failed(std::string_view what, const std::string& folder, int number) {
  const ErrorCode code = number == ENOSPC || number == EDQUOT ? ErrorCode::out_of_space : ErrorCode::io;
  return Error::retryable(code, std::string(what) + " in spool_dir '" + folder + "': " + std::strerror(number));
}

// O_TMPFILE where the file system has it; else a name that is gone before anything is written.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return descriptor;
  std::string name = folder + "/.millrace-spill-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<std::shared_ptr<Spool>> Spool::open(std::string folder, std::uint64_t limit) {
  const int descriptor = open_nameless(folder);
  if (descriptor < 0) {
    return fail(Error::config(failed("no file can be made", folder, errno).message() +
                              ". It has to be a folder that this process may write to"));
  }
  return std::shared_ptr<Spool>(new Spool(std::move(folder), limit, descriptor));
}

Spool::~Spool() { ::close(descriptor_); }

std::unique_ptr<SpillFile> Spool::create() { return std::make_unique<SpillFile>(shared_from_this()); }

Result<void> Spool::take(std::uint64_t bytes) {
  const std::uint64_t before = used_.fetch_add(bytes, memory_order_relaxed);
  if (limit_ == 0 || before + bytes <= limit_) return {};
  give_back(bytes);
  return fail(Error::retryable(ErrorCode::out_of_space, "spool_dir '" + folder_ + "' holds " + std::to_string(before) +
                                                            " bytes, and spool_limit is " + std::to_string(limit_)));
}

std::uint64_t Spool::extent_size(std::size_t index) noexcept {
  return kFirstExtent << std::min(index, kExtentSizes - 1);
}

Spool::Extent Spool::take_extent(std::size_t index) {
  const MutexLock lock(mutex_);
  auto& free = free_[std::min(index, kExtentSizes - 1)];
  if (free.empty()) return {.at = std::exchange(end_, end_ + extent_size(index))};
  const Extent taken = free.back();
  free.pop_back();
  kept_ -= taken.on_disk;
  return taken;
}

void Spool::give_back_extents(std::vector<Extent>& extents) noexcept {
  if (extents.empty()) return;
  std::uint64_t on_disk = 0;
  for (const Extent& extent : extents) on_disk += extent.on_disk;
  const auto may_stay = [&] {
    const MutexLock lock(mutex_);
    if (limit_ != 0 || kept_ + on_disk > kKept) return false;
    kept_ += on_disk;
    return true;
  };
  if (!may_stay()) {
    // Where the file system makes no holes the bytes stay until the extent is used again.
    for (std::size_t i = 0; i < extents.size(); ++i) {
      std::ignore = ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(extents[i].at), static_cast<off_t>(extent_size(i)));
      extents[i].on_disk = 0;
    }
  }
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < extents.size(); ++i) free_[std::min(i, kExtentSizes - 1)].push_back(extents[i]);
}

SpillFile::~SpillFile() {
  if (mapped_ != nullptr) ::munmap(mapped_, size());
  spool_->give_back_extents(extents_);
  spool_->give_back(size_);
}

Result<void> SpillFile::append(std::string_view bytes) {
  MILLRACE_TRY(spool_->take(bytes.size()));
  std::uint64_t end = size_;
  while (!bytes.empty()) {
    if (end == room_) {
      room_ += Spool::extent_size(extents_.size());
      extents_.push_back(spool_->take_extent(extents_.size()));
    }
    // A failed try may have left room in front of the last extent.
    std::size_t index = extents_.size();
    std::uint64_t begin = room_;
    do {
      begin -= Spool::extent_size(--index);
    } while (begin > end);
    const std::uint64_t left = begin + Spool::extent_size(index) - end;
    const ssize_t wrote = ::pwrite(spool_->descriptor_, bytes.data(), std::min<std::uint64_t>(bytes.size(), left),
                                   static_cast<off_t>(extents_[index].at + end - begin));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int number = errno;
      spool_->give_back(end - size_ + bytes.size());
      return fail(failed("cannot write", spool_->folder_, number));
    }
    end += static_cast<std::uint64_t>(wrote);
    extents_[index].on_disk = std::max(extents_[index].on_disk, end - begin);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  size_ = end;
  return {};
}

/// Puts what is on disk at `at`, where anonymous memory is: whole pages mapped, the last one read. An errno, or 0.
int SpillFile::map_extents(char* at) const noexcept {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t begin = 0;
  for (std::size_t i = 0; begin < size_; begin += Spool::extent_size(i++)) {
    const std::uint64_t bytes = std::min(size_ - begin, Spool::extent_size(i));
    const std::uint64_t whole = bytes / page * page;
    const auto from = static_cast<off_t>(extents_[i].at);
    if (whole > 0 &&
        ::mmap(at + begin, whole, PROT_READ, MAP_SHARED | MAP_FIXED, spool_->descriptor_, from) == MAP_FAILED) {
      return errno;
    }
    if (whole > 0) ::madvise(at + begin, whole, MADV_SEQUENTIAL);
    for (std::uint64_t done = whole; done < bytes;) {
      const ssize_t got =
          ::pread(spool_->descriptor_, at + begin + done, bytes - done, from + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 ? errno : EIO;
      done += static_cast<std::uint64_t>(got);
    }
  }
  return 0;
}

Result<std::string_view> SpillFile::map(std::string_view end) {
  const auto all = [this] { return std::string_view(static_cast<const char*>(mapped_), size()); };
  if (mapped_ != nullptr || size_ + end.size() == 0) return all();
  const std::size_t total = size_ + end.size();
  void* region = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return fail(failed("cannot map a file", spool_->folder_, errno));
  char* const at = static_cast<char*>(region);
  if (const int number = map_extents(at); number != 0) {
    ::munmap(region, total);
    return fail(failed("cannot read a file back", spool_->folder_, number));
  }
  if (!end.empty()) std::memcpy(at + size_, end.data(), end.size());
  mapped_ = region;
  end_ = end.size();
  return all();
}

}  // namespace millrace
