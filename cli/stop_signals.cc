// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <optional>

#include "millrace/base/sync.h"

namespace millrace::cli {
namespace {

// What a signal handler may touch: a lock-free number, and a handle whose request() is async-signal-safe.
Atomic<int> first_signal{0};
std::optional<StopHandle> stop_handle;

void on_signal(int signal) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal)) {
    stop_handle->request();
    return;
  }
  constexpr char kText[] = "\nmillrace: stopped at once; what was not committed is read again by the next run\n";
  static_cast<void>(!::write(STDERR_FILENO, kText, sizeof kText - 1));
  ::_exit(128 + signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals(StopHandle stop) {
  stop_handle = std::move(stop);
  first_signal = 0;
  handle(SIGPIPE, SIG_IGN);
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
}

StopSignals::~StopSignals() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
}

int StopSignals::received() const noexcept { return first_signal; }

}  // namespace millrace::cli
