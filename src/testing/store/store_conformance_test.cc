// SPDX-License-Identifier: Apache-2.0
// The stores that need no server, and the wrappers, under the suite of all stores.
#include "millrace/testing/store_conformance.h"

#include <cstdlib>
#include <filesystem>

#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"
#include "millrace/testing/slow_store.h"
#include "store/file/file_store.h"

namespace millrace::testing {
namespace {

constexpr StorePredicates kMemory{.page = 10};

// A file has no place for metadata, and a path no empty segment; a name is a file or a folder.
constexpr StorePredicates kFile{.keeps_metadata = false,
                                .empty_segments = false,
                                .directory_markers = false,
                                .file_and_folder = false,
                                .page = 100};

std::shared_ptr<MemoryStore> memory() { return std::make_shared<MemoryStore>(MemoryStore::Options{.max_page = 10}); }

StoreUnderTest in_folder() {
  char name[] = "/tmp/millrace-conformance-XXXXXX";
  const std::string root = ::mkdtemp(name);
  return {make_file_store({.root = root}, {}), "in/",
          std::shared_ptr<void>(nullptr, [root](void*) { std::filesystem::remove_all(root); })};
}

[[maybe_unused]] const int kRegistered[] = {
    register_store_conformance("MemoryStore", kMemory, [] { return StoreUnderTest{memory(), "in/"}; }),
    register_store_conformance("FileStore", kFile, in_folder),
    register_store_conformance("FaultyStoreWithoutFaults", kMemory,
                               [] { return StoreUnderTest{std::make_shared<FaultyStore>(memory()), "in/"}; }),
    register_store_conformance("SlowStore", kMemory,
                               [] {
                                 SlowStore::Options options;
                                 options.latency = std::chrono::microseconds(50);
                                 return StoreUnderTest{std::make_shared<SlowStore>(memory(), options), "in/"};
                               }),
    // Without ETags nothing can be pinned; without conditions nothing can be guarded.
    register_store_conformance("PlainMemoryStore", {.conditional_writes = false, .strong_etags = false},
                               [] {
                                 return StoreUnderTest{
                                     std::make_shared<MemoryStore>(MemoryStore::Options{
                                         .etags = MemoryStore::Tags::none, .honours_conditions = false}),
                                     "in/"};
                               }),
};

}  // namespace
}  // namespace millrace::testing
