// SPDX-License-Identifier: Apache-2.0
// Counted by the sanitizer's hook where there is one, which sees malloc too; by operator new elsewhere.
#include "tests/chain/allocation_count.h"

#include <cstdlib>
#include <new>

#include "millrace/base/borrow.h"

namespace {
std::size_t allocations = 0;
}  // namespace

#if defined(MILLRACE_ASAN)
// Of sanitizer/allocator_interface.h, which not every compiler ships.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {
const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* /*memory*/, std::size_t /*size*/) { ++allocations; },
    [](const volatile void* /*memory*/) {});
}  // namespace
#else
namespace {

void* counted(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* counted(std::size_t size, std::align_val_t alignment) noexcept {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(align, (size + align - 1) / align * align);
}
void* or_abort(void* memory) {
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return or_abort(counted(size)); }
void* operator new[](std::size_t size) { return or_abort(counted(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return or_abort(counted(size, alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return or_abort(counted(size, alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

std::size_t millrace::allocation_count() { return allocations; }
