// SPDX-License-Identifier: Apache-2.0
#include "testing/simulation/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "millrace/base/borrow.h"
#include "millrace/base/check.h"

#if defined(MILLRACE_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace millrace::testing {
namespace {

// What a run's control thread takes under a sanitizer, with room for code of others.
constexpr std::size_t kStackBytes = std::size_t{1} << 20U;

}  // namespace

// ASan keeps its own account of stacks and is told of each change.
struct Fiber::Context {
  ucontext_t inside{};
  ucontext_t outside{};
  void* memory = nullptr;
  std::size_t guard = 0;
  void* fake_inside = nullptr;
  void* fake_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;

  [[nodiscard]] void* stack() const { return static_cast<char*>(memory) + guard; }

  void leaves_outside() {
#if defined(MILLRACE_ASAN)
    __sanitizer_start_switch_fiber(&fake_outside, stack(), kStackBytes);
#endif
  }
  void is_outside() {
#if defined(MILLRACE_ASAN)
    __sanitizer_finish_switch_fiber(fake_outside, nullptr, nullptr);
#endif
  }
  void leaves_inside(bool for_good) {
#if defined(MILLRACE_ASAN)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_inside, outside_bottom, outside_size);
#else
    static_cast<void>(for_good);
#endif
  }
  void is_inside() {
#if defined(MILLRACE_ASAN)
    __sanitizer_finish_switch_fiber(fake_inside, &outside_bottom, &outside_size);
#endif
  }
};

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), context_(std::make_unique<Context>()) {
  Context& context = *context_;
  context.guard = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  context.memory = ::mmap(nullptr, context.guard + kStackBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MILLRACE_CHECK(context.memory != MAP_FAILED, "a fiber gets a stack");
  MILLRACE_CHECK(::mprotect(context.memory, context.guard, PROT_NONE) == 0, "a fiber's stack is guarded");
  MILLRACE_CHECK(::getcontext(&context.inside) == 0, "a fiber gets a context");
  context.inside.uc_stack.ss_sp = context.stack();
  context.inside.uc_stack.ss_size = kStackBytes;
  context.inside.uc_link = &context.outside;
  // makecontext passes ints.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&context.inside, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32U),
                static_cast<unsigned>(self));
}

Fiber::~Fiber() { ::munmap(context_->memory, context_->guard + kStackBytes); }

void Fiber::resume() {
  context_->leaves_outside();
  ::swapcontext(&context_->outside, &context_->inside);
  context_->is_outside();
}

void Fiber::pause() {
  context_->leaves_inside(false);
  ::swapcontext(&context_->inside, &context_->outside);
  context_->is_inside();
}

void Fiber::enter(unsigned high, unsigned low) {
  const auto self = (static_cast<std::uintptr_t>(high) << 32U) | low;
  reinterpret_cast<Fiber*>(self)->run();
}

void Fiber::run() {
  context_->is_inside();
  body_();
  body_ = nullptr;
  done_ = true;
  context_->leaves_inside(true);
}

}  // namespace millrace::testing
