// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/login_secret.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "millrace/base/printable.h"

namespace millrace::iggy {
namespace {

// The length of a token is one byte on the wire.
constexpr std::size_t kMaxToken = 255;

}  // namespace

Result<void> check_credentials(const Credentials& credentials) {
  const bool user = !credentials.username.empty() || !credentials.password.empty();
  const int ways = static_cast<int>(user) + static_cast<int>(!credentials.token.empty()) +
                   static_cast<int>(!credentials.token_file.empty());
  if (ways != 1) {
    return fail(
        Error::config("an Iggy client logs in with username and password, or with token, or with token_file: "
                      "give one of the three"));
  }
  if (user && (credentials.username.empty() || credentials.password.empty())) {
    return fail(Error::config("an Iggy client needs both username and password"));
  }
  if (credentials.username.size() > 255 || credentials.password.size() > 255 || credentials.token.size() > kMaxToken) {
    return fail(Error::config("username, password and token of an Iggy client have at most 255 bytes each"));
  }
  return {};
}

Result<std::string> read_token(const Credentials& credentials) {
  if (credentials.token_file.empty()) return credentials.token;
  std::ifstream file(credentials.token_file, std::ios::binary);
  std::array<char, 1024> bytes{};
  if (file) file.read(bytes.data(), bytes.size());
  if (!file.is_open() || file.bad()) {
    return fail(
        Error::fatal(ErrorCode::credentials, fmt::format("the token file '{}' cannot be read: {}",
                                                         printable(credentials.token_file), std::strerror(errno))));
  }
  std::string token(bytes.data(), static_cast<std::size_t>(file.gcount()));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.empty() || token.size() > kMaxToken) {
    return fail(Error::fatal(ErrorCode::credentials,
                             fmt::format("the token file '{}' holds no token: one has 1 to {} bytes and stands alone",
                                         printable(credentials.token_file), kMaxToken)));
  }
  return token;
}

}  // namespace millrace::iggy
