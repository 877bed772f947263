// SPDX-License-Identifier: Apache-2.0
// What tests of transforms share: one document through a list, and what comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/ops/transforms.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/seeded_random.h"

namespace millrace::ops {

[[nodiscard]] inline FieldPath path(std::string_view text) {
  auto parsed = FieldPath::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *std::move(parsed) : FieldPath();
}
[[nodiscard]] inline std::vector<FieldPath> paths(std::initializer_list<std::string_view> texts) {
  std::vector<FieldPath> all;
  for (const std::string_view text : texts) all.push_back(path(text));
  return all;
}
[[nodiscard]] inline FieldSetting set(std::string_view key, std::string json, SetWhen when = SetWhen::always) {
  return {path(key), {FieldValue::Computed::none, std::move(json)}, when};
}
[[nodiscard]] inline FieldSetting set(std::string_view key, FieldValue::Computed computed) {
  return {path(key), {computed, "null"}, SetWhen::always};
}

/// A list that is ready to run.
class Bench {
 public:
  explicit Bench(std::vector<TransformSpec> list, std::uint64_t seed = 1)
      : random(seed), program_(made(std::move(list))), runner_(program_, clock, random) {}

  /// What a document becomes; "!code: words" for an error.
  std::vector<std::string> all(std::string_view document, bool sound = false) {
    // In memory of its own size, so that a read behind it is seen.
    const std::vector<char> bytes(document.begin(), document.end());
    const std::string_view view(bytes.data(), bytes.size());
    if (!runner_.run({view}, 0, sound, meta)) {
      const Error error = runner_.failure();
      EXPECT_TRUE(error.is_record()) << error.message();
      return {"!" + std::string(to_string(error.code())) + ": " + error.message()};
    }
    std::vector<std::string> out;
    for (const decode::Json& one : runner_.documents()) out.emplace_back(one.view);
    return out;
  }
  /// The same of one; "-" for one that was dropped.
  std::string operator()(std::string_view document) {
    const std::vector<std::string> out = all(document);
    if (out.empty()) return "-";
    EXPECT_EQ(out.size(), 1U);
    return out.front();
  }
  [[nodiscard]] TransformRunner& runner() noexcept { return runner_; }
  [[nodiscard]] const TransformProgram& program() const noexcept { return program_; }

  testing::ManualClock clock;
  testing::SeededRandom random;
  RecordMeta meta;

 private:
  static TransformProgram made(std::vector<TransformSpec> list) {
    auto program = TransformProgram::make(std::move(list));
    EXPECT_TRUE(program.has_value()) << program.error().message();
    return program ? *std::move(program) : TransformProgram();
  }
  TransformProgram program_;
  TransformRunner runner_;
};

/// Why a list is refused; empty when it is not.
[[nodiscard]] inline std::string refusal(std::vector<TransformSpec> list) {
  const auto program = TransformProgram::make(std::move(list));
  return program ? "" : program.error().message();
}

}  // namespace millrace::ops
