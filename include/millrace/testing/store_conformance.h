// SPDX-License-Identifier: Apache-2.0
// The suite that every ObjectStore passes: listing, ranged reads, pins, conditions, odd keys, uploads in parts,
// cancelling. A store is given by a factory; where a kind of store cannot behave as S3 does, a predicate says so, and
// the cases that need it are left out.
//
//   const int cases = register_store_conformance("MemoryStore", {}, [] { return StoreUnderTest{make(), "in/"}; });
//
// at namespace scope of a gtest program gives tests MemoryStore.<case>.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "millrace/store/object_store.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

/// A store for one test. No other test uses keys under `prefix`, so servers and buckets can be shared.
struct StoreUnderTest {
  std::shared_ptr<ObjectStore> store;
  std::string prefix{};          ///< ends with a slash; nothing lies under it yet
  std::shared_ptr<void> keep{};  ///< released after the store: a folder, a server
};
using StoreFactory = std::function<StoreUnderTest()>;

/// What a kind of store can do. The defaults are those of S3.
struct StorePredicates {
  bool conditional_writes = true;  ///< if_absent and if_match are honoured
  bool strong_etags = true;        ///< ETags are there and pin reads
  bool keeps_metadata = true;      ///< user metadata and content encoding come back
  bool empty_segments = true;      ///< "a//b" and "/a" are keys of their own
  bool directory_markers = true;   ///< "a/" can be an object
  bool file_and_folder = true;     ///< "a" and "a/b" can both be objects
  bool backslashes = true;         ///< "a\b" is a key of its own
  bool control_characters = true;  ///< a tab may be part of a key
  bool uploads = true;             ///< objects can be written in parts
  bool replaced_parts_go = true;   ///< a completion that names a part by the ETag of the one before it fails
  std::size_t least_part = 1;      ///< bytes of every part but the last
  std::size_t page = 1000;         ///< objects that one page can hold; one more are put and listed
};

/// Adds the cases that fit to gtest's list; before RUN_ALL_TESTS. Returns how many there are.
int register_store_conformance(const std::string& suite, StorePredicates predicates, StoreFactory factory);

}  // namespace millrace::testing
#pragma GCC visibility pop
