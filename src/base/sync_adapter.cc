// SPDX-License-Identifier: Apache-2.0
// std::thread says by an exception that the system has no thread left. Whoever starts several would have to take down
// those that run already, which wait for work that never comes; and nothing can go on without its threads. So the
// process ends here, as if it were killed: what was acknowledged is safe, the rest is read again by the next run.
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <pthread.h>

#include "millrace/base/sync.h"

namespace millrace {
namespace {

[[noreturn]] void no_thread(const std::string& name, const char* why) noexcept {
  std::fprintf(stderr,
               "millrace: fatal: the system refuses the thread '%s': %s; raise the limit of processes and threads "
               "(ulimit -u, pids.max of the container) or lower the number of lanes and writers\n",
               name.c_str(), why);
  std::_Exit(1);
}

std::thread start(const std::string& name, std::function<void()> body) {
  try {
    return std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      body();
    });
  } catch (const std::system_error& refused) {
    no_thread(name, refused.what());
  }
}

}  // namespace

Thread::Thread(std::string name, std::function<void()> body) : thread_(start(name, std::move(body))) {}

}  // namespace millrace
