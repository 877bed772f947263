// SPDX-License-Identifier: Apache-2.0
#include "connectors/stdout/descriptor_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <system_error>
#include <utility>

namespace millrace::stdout_sink {
namespace {

/// Keeps a reader that has gone away from killing the process while this lives: write() answers EPIPE instead. Of this
/// thread only, so that nothing else in the process behaves differently.
class WithoutBrokenPipeSignal {
 public:
  WithoutBrokenPipeSignal() {
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::sigprocmask(SIG_BLOCK, &pipe_, &before_);  // of the calling thread, on Linux
  }
  ~WithoutBrokenPipeSignal() {
    const timespec now{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipeSignal(const WithoutBrokenPipeSignal&) = delete;
  WithoutBrokenPipeSignal& operator=(const WithoutBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

std::string name_of(int descriptor) {
  return descriptor == STDOUT_FILENO ? std::string("stdout") : fmt::format("descriptor {}", descriptor);
}

}  // namespace

Result<std::unique_ptr<Writer>> DescriptorWriter::make(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    return fail(Error::fatal(ErrorCode::closed,
                             fmt::format("{} is closed; nothing can be written to it", name_of(descriptor))));
  }
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return fail(Error::fatal(ErrorCode::unavailable, "no descriptor is left for an eventfd (ulimit -n)"));
  // A pipe that poll() calls writable takes PIPE_BUF bytes at once; a file or a disk takes anything.
  const std::size_t piece = keeps_bytes(descriptor) ? 0 : PIPE_BUF;
  return std::unique_ptr<Writer>(new DescriptorWriter(descriptor, wake, piece));
}

bool DescriptorWriter::keeps_bytes(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
}

Result<bool> DescriptorWriter::end_torn_line(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool appends = (::fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
  const off_t next = appends ? status.st_size : ::lseek(descriptor, 0, SEEK_CUR);
  if (next <= 0) return false;
  const auto unknown = [&](const char* what) {
    return fail(Error::fatal(
        ErrorCode::io,
        fmt::format("{}: whether what it holds ends in a whole line cannot be told ({}: {}); write to a new file",
                    name_of(descriptor), what, std::error_code(errno, std::generic_category()).message())));
  };
  // Opened for writing only, as a shell does, it cannot be read through the same descriptor.
  const int file = ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return unknown("open");
  char last = '\n';
  const ssize_t got = ::pread(file, &last, 1, next - 1);
  ::close(file);
  if (got < 0) return unknown("read");
  if (got == 0 || last == '\n') return false;
  while (::write(descriptor, "\n", 1) != 1) {
    if (errno != EINTR) return unknown("write");
  }
  return true;
}

DescriptorWriter::~DescriptorWriter() { ::close(wake_); }

void DescriptorWriter::cancel() {
  cancelled_.store(true, memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_, &one, sizeof one);
}

Error DescriptorWriter::failed(int error_number) const {
  const std::string name = name_of(descriptor_);
  if (error_number == EPIPE) {
    return Error::fatal(ErrorCode::closed,
                        fmt::format("the reader of {} went away; what it was not given is not committed",
                                    descriptor_ == STDOUT_FILENO ? std::string("standard output") : name));
  }
  const std::string text =
      fmt::format("{}: cannot be written: {}", name, std::error_code(error_number, std::generic_category()).message());
  if (error_number == EBADF) return Error::fatal(ErrorCode::closed, text);
  if (error_number == ENOSPC || error_number == EDQUOT) return Error::retryable(ErrorCode::out_of_space, text);
  return Error::retryable(ErrorCode::io, text);
}

Result<void> DescriptorWriter::wait_until_writable() const {
  pollfd watched[2] = {{descriptor_, POLLOUT, 0}, {wake_, POLLIN, 0}};
  for (;;) {
    if (cancelled_.load(memory_order_relaxed)) {
      return fail(
          Error::fatal(ErrorCode::cancelled, name_of(descriptor_) + ": the reader does not read; gave up waiting"));
    }
    if (::poll(watched, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return fail(failed(errno));
    }
    if (watched[0].revents != 0) return {};  // also for an error: the write tells which
  }
}

Result<Receipt> DescriptorWriter::write(SealedBatch& batch) {
  if (token_ != batch.token) {
    token_ = batch.token;
    done_ = 0;
  }
  const WithoutBrokenPipeSignal guard;
  MILLRACE_ASSIGN(const std::string_view bytes, batch.body());
  while (done_ < bytes.size()) {
    const std::size_t left = bytes.size() - done_;
    if (piece_ != 0) MILLRACE_TRY(wait_until_writable());
    const ssize_t written = ::write(descriptor_, bytes.data() + done_, piece_ == 0 ? left : std::min(left, piece_));
    if (written >= 0) {
      done_ += static_cast<std::size_t>(written);
    } else if (errno != EINTR && errno != EAGAIN) {
      return fail(failed(errno));
    }
  }
  if (piece_ == 0) MILLRACE_TRY(sync());
  token_.reset();
  return Receipt{"", bytes.size()};
}

/// The kernel reports a failed write-back once and drops the pages, so a second try would succeed over the loss: no
/// failure here is retryable.
Result<void> DescriptorWriter::sync() const {
  while (::fdatasync(descriptor_) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL) return {};  // a special file that has nothing to sync
    return fail(failed(errno)
                    .as(ErrorClass::fatal)
                    .prefixed("what was written could not be made durable, and is not committed: "));
  }
  return {};
}

}  // namespace millrace::stdout_sink
