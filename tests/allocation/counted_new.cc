// SPDX-License-Identifier: Apache-2.0
#include "tests/allocation/counted_new.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t calls = 0;

void* counted(std::size_t size) {
  ++calls;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

namespace millrace {
std::uint64_t counted_new() { return calls; }
}  // namespace millrace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
