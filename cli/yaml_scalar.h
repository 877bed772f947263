// SPDX-License-Identifier: Apache-2.0
// YamlScalar: what a scalar without quotes is by the core schema of YAML 1.2, as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::cli {

struct YamlScalar {
  enum class Kind : std::uint8_t {
    text,
    null,
    boolean,
    number,
    refused,  ///< `why`: JSON has no such value, or readers of YAML do not agree on it
  };
  Kind kind = Kind::text;
  std::string json;      ///< null, boolean, number: spelled as it stands where JSON takes it so
  std::string_view why;  ///< refused
};

[[nodiscard]] YamlScalar read_plain_scalar(std::string_view text);

}  // namespace millrace::cli
