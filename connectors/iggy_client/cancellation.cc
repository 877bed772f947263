// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/cancellation.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::iggy {

Result<std::unique_ptr<Cancellation>> Cancellation::make() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    return fail(Error::fatal(ErrorCode::io, std::string("no descriptor could be opened for the Iggy client: ") +
                                                std::strerror(errno) + "; raise the limit of open files"));
  }
  return std::unique_ptr<Cancellation>(new Cancellation(descriptor));
}

Cancellation::~Cancellation() { ::close(descriptor_); }

void Cancellation::cancel() noexcept {
  {
    const MutexLock lock(mutex_);
    cancelled_.store(true, memory_order_release);
  }
  const std::uint64_t one = 1;
  // The counter is far from full, so the write is short and cannot fail.
  static_cast<void>(!::write(descriptor_, &one, sizeof one));
  changed_.notify_all();
}

Result<void> Cancellation::wait_until(Clock& clock, SteadyTime until) {
  const MutexLock lock(mutex_);
  while (!cancelled() && clock.now() < until) clock.wait_until(changed_, mutex_, until);
  if (cancelled()) return fail(error());
  return {};
}

Error Cancellation::error() { return Error::retryable(ErrorCode::cancelled, "the Iggy client was told to stop"); }

}  // namespace millrace::iggy
