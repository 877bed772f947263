// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, padded), for keys that are not UTF-8. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::s3_source {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nothing when `text` is not canonical base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace millrace::s3_source
