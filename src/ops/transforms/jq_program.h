// SPDX-License-Identifier: Apache-2.0
// JqProgram: libjq behind a seam, so that its headers stay in one file. One per lane; what it allocates is jq's own
// affair, what it gives out is bounded. Numbers are doubles to jq, keys that come twice are one, and what it gives out
// is spelled as `jq -c` spells it. It sees the document and nothing else: no file, no environment, no other input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/base/bounded.h"
#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/ops/transform_spec.h"
#include "ops/transforms/record_totals.h"

namespace millrace::transforms {

class JqProgram {
 public:
  /// Bytes that documents of `size` bytes may become, all of them together.
  [[nodiscard]] static constexpr std::uint64_t most(std::uint64_t size) noexcept {
    constexpr std::uint64_t kLeast = std::uint64_t{16} << 20U;
    return std::max(bounded_product(4, size), kLeast);
  }
  /// Whether this build has jq at all.
  [[nodiscard]] static bool built_in() noexcept;

  /// Fails (config) with what jq says of the program, also where this build has no jq, and where the file ~/.jq would
  /// be read with it.
  [[nodiscard]] static Result<JqProgram> make(const ops::JqFilter& spec);
  JqProgram(JqProgram&&) noexcept;
  JqProgram& operator=(JqProgram&&) noexcept;
  ~JqProgram();

  /// Appends what it makes of a document, compact, one behind the other, and where each ends: JSON, but for what lies
  /// deeper than libjq writes, so it is to be checked. False: context.failure says why.
  [[nodiscard]] bool run(std::string_view document, RunContext& context, ByteBuffer& out,
                         std::vector<std::size_t>& ends);

 private:
  struct State;
  explicit JqProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::transforms
