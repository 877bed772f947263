// SPDX-License-Identifier: Apache-2.0
// Conformance: whether an implementation of a seam keeps the rules that the engine relies on, rule by rule. A report is
// data: a program prints it, a test registers each rule as a case of its own (conformance_tests.h). Nothing here needs
// a test framework. One thread, which may wait for what it tries.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace millrace::conformance {

enum class Verdict {
  kept,
  broken,
  not_applicable,  ///< the thing promises nothing here, or what it takes to try was not given
};
[[nodiscard]] std::string_view to_string(Verdict) noexcept;

/// What a check saw, in words: lane, partition, offset, and what was expected instead.
struct Outcome {
  Verdict verdict = Verdict::kept;
  std::string seen{};
};
[[nodiscard]] inline Outcome kept(std::string seen = {}) { return {Verdict::kept, std::move(seen)}; }
[[nodiscard]] inline Outcome broken(std::string seen) { return {Verdict::broken, std::move(seen)}; }
[[nodiscard]] inline Outcome not_applicable(std::string why) { return {Verdict::not_applicable, std::move(why)}; }

/// One rule, ready to be tried on one implementation, any number of times.
struct Rule {
  std::string_view name;     ///< snake_case, of static lifetime
  std::string_view promise;  ///< a sentence, of static lifetime
  std::function<Outcome()> check;
};

struct Finding {
  std::string_view rule;
  std::string_view promise;
  Outcome outcome;
};

struct Report {
  std::vector<Finding> findings;

  /// No rule is broken.
  [[nodiscard]] bool kept() const;
  /// Names of the rules with this verdict, in their order.
  [[nodiscard]] std::vector<std::string> rules(Verdict verdict) const;
  /// One line for each rule: verdict, name, what was seen; of a broken one the promise too.
  [[nodiscard]] std::string to_text() const;
};

/// Tries all. What a check throws makes its rule broken.
[[nodiscard]] Report try_rules(const std::vector<Rule>& rules);

}  // namespace millrace::conformance
#pragma GCC visibility pop
