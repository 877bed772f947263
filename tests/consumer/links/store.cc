// SPDX-License-Identifier: Apache-2.0
#include <millrace/testing/memory_store.h>

int main() { return millrace::testing::MemoryStore().list({}) ? 0 : 1; }
