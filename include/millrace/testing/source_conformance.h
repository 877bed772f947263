// SPDX-License-Identifier: Apache-2.0
// The rules of a source, tried on one: it is opened, its lanes are polled, acknowledged, revoked, paused, killed and
// started again, by hand and on one thread.
//
//   const Report report = conformance::source([] { return SourceUnderTest{.make = ..., .records = 10}; });
//
// Reads that outlive what was lent are reports of ASan where the test is built with it, and wrong bytes elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "millrace/source/source.h"
#include "millrace/testing/conformance.h"

#pragma GCC visibility push(default)
namespace millrace::conformance {

/// What lies outside a source, as one rule finds it: the same records each time, nothing committed. The hooks make
/// happen outside what rules need; a rule whose hook is missing is not applicable.
struct SourceUnderTest {
  /// Required. An instance over what lies outside; called again where a rule restarts.
  std::function<Result<std::unique_ptr<Source>>()> make{};
  /// Required, at least 4, in one partition at least 3. How many lie there and are given without anything else
  /// happening.
  std::uint64_t records = 0;
  /// One more record arrives.
  std::function<void()> more{};
  /// Lanes are taken away and given back: poll_events soon says LanesRevoked, then LanesAssigned.
  std::function<void()> rebalance{};
  /// The positions that are kept outside now; partitions without one are left out.
  std::function<std::map<PartitionId, Watermark>()> committed{};
  /// What is read from now on fails for good, as what it lies in is gone.
  std::function<void()> fail_reading{};
  /// The next commit cannot be kept, for once.
  std::function<void()> fail_commit{};
  /// Released after the last instance.
  std::shared_ptr<void> keep{};
};
using SourceFactory = std::function<SourceUnderTest()>;

struct SourceOptions {
  Duration idle_timeout = std::chrono::milliseconds(20);  ///< of polls that are to find nothing
  Duration patience = std::chrono::seconds(20);           ///< for what must come
  Duration prompt = std::chrono::seconds(5);              ///< what takes longer has waited
  Random* random = &Random::system();
};

/// Each rule by itself, on a fresh SourceUnderTest.
[[nodiscard]] std::vector<Rule> source_rules(SourceFactory factory, SourceOptions options = {});
[[nodiscard]] inline Report source(SourceFactory factory, SourceOptions options = {}) {
  return try_rules(source_rules(std::move(factory), options));
}

}  // namespace millrace::conformance
#pragma GCC visibility pop
