// SPDX-License-Identifier: Apache-2.0
// What a message may show of a url that somebody gave. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // to the component of the S3 store
namespace millrace {

/// True when `rest` (a url behind its "://") begins like user:password@host. A password may hold '/', '?' and '@'.
[[nodiscard]] bool has_user_information(std::string_view rest);

/// Printable, and without what may be a secret: user information, and what a '?' or '#' begins (a query may be a
/// signature). Where these cannot be told apart, only the scheme is left.
[[nodiscard]] std::string shown_url(std::string_view url);

/// The same of a url whose path is a key, which may hold any of these characters: only user information is left out.
[[nodiscard]] std::string shown_key_url(std::string_view url);

}  // namespace millrace
#pragma GCC visibility pop
