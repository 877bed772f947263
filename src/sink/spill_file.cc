// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/spill_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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
  std::shared_ptr<Spool> spool(new Spool(std::move(folder), limit));
  if (auto tried = spool->create(); !tried) {
    return fail(Error::config(tried.error().message() + ". It has to be a folder that this process may write to"));
  }
  return spool;
}

Result<std::unique_ptr<SpillFile>> Spool::create() {
  const int descriptor = open_nameless(folder_);
  if (descriptor < 0) return fail(failed("no file can be made", folder_, errno));
  return std::make_unique<SpillFile>(shared_from_this(), descriptor);
}

Result<void> Spool::take(std::uint64_t bytes) {
  const std::uint64_t before = used_.fetch_add(bytes, memory_order_relaxed);
  if (limit_ == 0 || before + bytes <= limit_) return {};
  give_back(bytes);
  return fail(Error::retryable(ErrorCode::out_of_space, "spool_dir '" + folder_ + "' holds " + std::to_string(before) +
                                                            " bytes, and spool_limit is " + std::to_string(limit_)));
}

SpillFile::~SpillFile() {
  if (mapped_ != nullptr) ::munmap(mapped_, size());
  ::close(descriptor_);
  spool_->give_back(size_);
}

Result<void> SpillFile::append(std::string_view bytes) {
  MILLRACE_TRY(spool_->take(bytes.size()));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(size_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int number = errno;
      spool_->give_back(bytes.size());
      return fail(failed("cannot write", spool_->folder_, number));
    }
    done += static_cast<std::size_t>(wrote);
  }
  size_ += bytes.size();
  return {};
}

Result<std::string_view> SpillFile::map(std::string_view end) {
  const auto all = [this] { return std::string_view(static_cast<const char*>(mapped_), size()); };
  if (mapped_ != nullptr || size_ + end.size() == 0) return all();
  const std::size_t total = size_ + end.size();
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = size_ / page * page;
  void* region = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return fail(failed("cannot map a file", spool_->folder_, errno));
  char* const at = static_cast<char*>(region);
  const auto put_file_there = [&]() -> int {
    if (whole > 0 && ::mmap(region, whole, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_, 0) == MAP_FAILED)
      return errno;
    // The page that it shares with the end.
    for (std::size_t done = whole; done < size_;) {
      const ssize_t got = ::pread(descriptor_, at + done, size_ - done, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 ? errno : EIO;
      done += static_cast<std::size_t>(got);
    }
    return 0;
  };
  if (const int number = put_file_there(); number != 0) {
    ::munmap(region, total);
    return fail(failed("cannot read a file back", spool_->folder_, number));
  }
  if (!end.empty()) std::memcpy(at + size_, end.data(), end.size());
  if (whole > 0) ::madvise(region, whole, MADV_SEQUENTIAL);
  mapped_ = region;
  end_ = end.size();
  return all();
}

}  // namespace millrace
