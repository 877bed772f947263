// SPDX-License-Identifier: Apache-2.0
// Percent coding and query strings, written for the server's side only, so that a mistake in the client's encoder is
// not repeated here. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::testing {

/// Nothing when a `%` is not followed by two hex digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
/// All bytes but A-Za-z0-9-._~ (and `/` when `keep_slash`) as %XX.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash);
/// True when `text` holds only A-Za-z0-9-._~ , `%XX` in upper case, and the bytes of `also`.
[[nodiscard]] bool strictly_encoded(std::string_view text, std::string_view also);

using Query = std::vector<std::pair<std::string, std::string>>;
/// Decoded names and values in the order sent; a name without `=` has an empty value. `+` stays `+`.
[[nodiscard]] std::optional<Query> parse_query(std::string_view text);

}  // namespace millrace::testing
