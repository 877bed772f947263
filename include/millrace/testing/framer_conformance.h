// SPDX-License-Identifier: Apache-2.0
// The rules of a framer, tried on one: the same frames however a stream is cut into windows, since a run resumes by the
// index of a record.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/framing/framer.h"
#include "millrace/testing/conformance.h"

#pragma GCC visibility push(default)
namespace millrace::conformance {

struct FramerSample {
  std::string bytes;
  std::optional<std::vector<std::string>> frames{};  ///< what must come of it; nothing: whatever does
};

/// Streams of some ten bytes to a few hundred, as every cut of each is tried. At least one good one with three frames.
struct FramerSamples {
  std::vector<FramerSample> good;
  std::vector<std::string> bad;  ///< streams that are refused somewhere
  /// A stream of one record of more than so many bytes; nothing: the format has no bound.
  std::function<std::string(std::size_t bytes)> long_record{};
};
using FramerMaker = std::function<std::unique_ptr<Framer>(const FramerOptions&)>;

[[nodiscard]] std::vector<Rule> framer_rules(FramerMaker factory, FramerSamples options);
[[nodiscard]] inline Report framer(FramerMaker factory, FramerSamples options) {
  return try_rules(framer_rules(std::move(factory), std::move(options)));
}

}  // namespace millrace::conformance
#pragma GCC visibility pop
