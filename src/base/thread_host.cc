// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/thread_host.h"

#include <utility>

namespace millrace {
namespace {

class SystemThread final : public ThreadHost::Running {
 public:
  SystemThread(std::string name, std::function<void()> body) : thread_(std::move(name), std::move(body)) {}
  bool joinable() const override { return thread_.joinable(); }
  void join() override { thread_.join(); }
  void detach() override { thread_.detach(); }

 private:
  Thread thread_;
};

class SystemThreads final : public ThreadHost {
 public:
  std::unique_ptr<Running> start(std::string name, std::function<void()> body) override {
    return std::make_unique<SystemThread>(std::move(name), std::move(body));
  }
  void wait(CondVar& condition, Mutex& mutex) override MILLRACE_REQUIRES(mutex) { condition.wait(mutex); }
};

}  // namespace

ThreadHost& ThreadHost::real() {
  static SystemThreads* const threads = new SystemThreads;  // a thread that was left behind may outlast destruction
  return *threads;
}

}  // namespace millrace
