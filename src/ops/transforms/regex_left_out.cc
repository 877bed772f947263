// SPDX-License-Identifier: Apache-2.0
// In place of regex.cc where RE2 was not found.
#include <utility>

#include "ops/transforms/regex.h"

namespace millrace::transforms {

struct Regex::Compiled {};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::make(std::string_view /*expression*/) {
  return fail(
      Error::config("this build has no regex: libre2 was not found when it was made. Install libre2 with its headers "
                    "and build again, or use starts_with, ends_with or contains"));
}

bool Regex::met_in(std::string_view /*text*/) const { return false; }

}  // namespace millrace::transforms
