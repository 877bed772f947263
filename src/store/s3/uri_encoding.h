// SPDX-License-Identifier: Apache-2.0
// The one encoder of keys and query values: what it makes is both what goes on the request line and what is signed.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::s3 {

/// A key as it stands in a path: every byte except A-Za-z0-9-._~/ as %XX in upper case. Nothing is normalised: `//`,
/// `.` and `..` are names like others.
[[nodiscard]] std::string encode_path(std::string_view key);
/// A query name or value: `/` is encoded too.
[[nodiscard]] std::string encode_query(std::string_view text);

using QueryPairs = std::vector<std::pair<std::string_view, std::string>>;
/// "a=1&b=%2F", sorted by name as signing wants it; empty for none. Values are given undecorated.
[[nodiscard]] std::string encode_query(QueryPairs pairs);

/// Undoes what S3 does to keys of a listing under encoding-type=url: %XX are bytes and `+` is a blank (a plus itself
/// comes as %2B). Nothing when a `%` is not followed by two hex digits.
[[nodiscard]] std::optional<std::string> decode_listed(std::string_view text);

}  // namespace millrace::s3
