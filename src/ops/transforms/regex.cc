// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <utility>

#include "millrace/base/printable.h"

namespace millrace::transforms {

struct Regex::Compiled {
  Compiled(std::string_view expression, const re2::RE2::Options& options)
      : re2(re2::StringPiece(expression.data(), expression.size()), options) {}
  re2::RE2 re2;
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::make(std::string_view expression) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(static_cast<std::int64_t>(kMemory));
  auto compiled = std::make_unique<Compiled>(expression, options);
  if (compiled->re2.ok()) return Regex(std::move(compiled));
  return fail(Error::config(
      fmt::format("the regex '{}' is none: {}", printable(expression, 200), printable(compiled->re2.error(), 200))));
}

bool Regex::met_in(std::string_view text) const {
  return compiled_->re2.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr,
                              0);
}

}  // namespace millrace::transforms
