// SPDX-License-Identifier: Apache-2.0
// Borrowing, said where a compiler can see it.
#pragma once

#if defined(__clang__)
/// Marks a parameter or `this` whose lifetime bounds the returned view.
#define MILLRACE_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define MILLRACE_LIFETIME_BOUND
#endif

#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLRACE_ASAN 1
#endif
#endif

#if defined(MILLRACE_ASAN)
#include <sanitizer/asan_interface.h>
/// Makes a read of these bytes an ASan report until they are unpoisoned; nothing in other builds. Used on what a lane
/// lent once the next poll begins.
#define MILLRACE_POISON(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define MILLRACE_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define MILLRACE_POISON(address, size) ((void)(address), (void)(size))
#define MILLRACE_UNPOISON(address, size) ((void)(address), (void)(size))
#endif
