// SPDX-License-Identifier: Apache-2.0
// What the cases of the store suite are written in. One thread a test, unless a case starts more.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/testing/store_conformance.h"

namespace millrace::testing {

class StoreCase {
 public:
  StoreCase(StoreUnderTest under_test, StorePredicates predicates)
      : under_test_(std::move(under_test)), predicates_(predicates) {}

  [[nodiscard]] ObjectStore& store() const { return *under_test_.store; }
  [[nodiscard]] const std::string& prefix() const { return under_test_.prefix; }
  [[nodiscard]] const StorePredicates& predicates() const { return predicates_; }
  [[nodiscard]] std::string key(std::string_view below) const { return prefix() + std::string(below); }

  /// Puts and expects success; the ETag.
  ETag put(std::string_view below, std::string_view body) const;
  [[nodiscard]] Result<PutResult> put_if_absent(std::string_view below, std::string_view body) const;
  [[nodiscard]] Result<PutResult> put_if_match(std::string_view below, std::string_view body, const ETag& etag) const;
  /// Bytes of a whole object; the error's name in angle brackets when it has none.
  [[nodiscard]] std::string get(std::string_view below) const;

  /// A read that has ended.
  struct Read {
    std::string bytes;
    ReadOutcome outcome;
    int calls_of_done = 0;
    [[nodiscard]] bool ok() const { return outcome.info.has_value(); }
    [[nodiscard]] ErrorCode code() const { return outcome.info.error().code(); }
  };
  [[nodiscard]] Read read(std::string_view below, std::uint64_t offset, std::size_t size, ETag if_match = {},
                          std::optional<std::uint64_t> expected_size = {}) const;

  struct Listing {
    std::vector<ObjectInfo> objects;
    std::size_t pages = 0;
    [[nodiscard]] std::vector<std::string> sorted_keys() const;
  };
  /// All pages. Keys come without the test's prefix.
  [[nodiscard]] Listing list(std::string_view below = {}, std::size_t max_keys = 1000,
                             std::string_view start_after = {}) const;

 private:
  StoreUnderTest under_test_;
  StorePredicates predicates_;
};

/// Reads that run side by side and are waited for together.
class ReadsTogether {
 public:
  explicit ReadsTogether(ObjectStore& store);
  ~ReadsTogether();
  /// Returns the handle; the result stands at the same index.
  std::shared_ptr<ReadHandle> start(std::string key, std::uint64_t offset, std::size_t size, ETag if_match = {},
                                    std::optional<std::uint64_t> expected_size = {});
  /// Waits for all.
  std::vector<StoreCase::Read> wait();

 private:
  struct State;
  ObjectStore& store_;
  std::shared_ptr<State> state_;
};

/// Bytes that no two offsets share for long, from a seed.
[[nodiscard]] std::string patterned(std::size_t size, std::uint64_t seed);

struct NamedCase {
  const char* name;
  void (*body)(StoreCase&);
  bool (*fits)(const StorePredicates&);
};
inline bool always(const StorePredicates&) { return true; }

[[nodiscard]] std::span<const NamedCase> list_cases();
[[nodiscard]] std::span<const NamedCase> key_cases();
[[nodiscard]] std::span<const NamedCase> read_cases();
[[nodiscard]] std::span<const NamedCase> write_cases();
[[nodiscard]] std::span<const NamedCase> upload_cases();

}  // namespace millrace::testing
