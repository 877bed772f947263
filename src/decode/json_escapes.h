// SPDX-License-Identifier: Apache-2.0
// Backslash escapes of JSON: are all of a document's right, and what does a string say without them. Stateless.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

/// What a look over a document's backslashes finds.
struct EscapeScan {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t fault = kNone;  ///< where the first bad escape begins
  bool any = false;           ///< there is a backslash
};

/// Needs no tokens: a backslash outside a string makes a document malformed anyway, and the walk sees it. Reads up to
/// 64 bytes behind the document.
[[nodiscard]] EscapeScan scan_escapes(std::string_view document);
/// The same, byte by byte; for processors without the vector unit, and to test the other against.
[[nodiscard]] EscapeScan scan_escapes_plainly(std::string_view document);

/// There is a CR or LF, which in sound JSON stands between tokens only.
[[nodiscard]] bool has_line_breaks(std::string_view text) noexcept;

/// Half of a surrogate pair alone (`"\ud83d"`) is right by JSON's grammar but is no character.
enum class LoneSurrogates {
  refuse,
  keep,  ///< as three bytes, as if UTF-8 could say it; only good for comparing keys
};

/// Writes what `raw` (between the quotes, escapes known to be right) says to `out`, which holds raw.size() bytes.
/// Returns the end of what was written; null for a lone surrogate that is refused.
[[nodiscard]] char* unescape(std::string_view raw, char* out, LoneSurrogates lone);

}  // namespace millrace
