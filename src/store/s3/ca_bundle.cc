// SPDX-License-Identifier: Apache-2.0
#include "store/s3/ca_bundle.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "millrace/base/printable.h"

namespace millrace::s3 {

Result<void> check_ca_bundle(const std::string& path) {
  if (path.empty()) return {};
  const auto refuse = [&](std::string_view why) {
    return fail(Error::config(fmt::format(
        "the file of certificate authorities {} (store.ca_bundle, else AWS_CA_BUNDLE) {}", printable_key(path), why)));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  bool found = false;
  // Also those that OpenSSL writes with trust settings, and old spellings.
  for (std::string line; !found && std::getline(file, line);) {
    found = line.starts_with("-----BEGIN ") && line.find("CERTIFICATE-----") != std::string::npos &&
            line.find("REQUEST") == std::string::npos;
  }
  if (found) return {};
  if (!file.is_open() || file.bad()) {
    return refuse(fmt::format("cannot be read: {}", errno != 0 ? std::strerror(errno) : "no bytes came"));
  }
  return refuse("holds no certificate: it has to be PEM text, with -----BEGIN CERTIFICATE----- before each");
}

}  // namespace millrace::s3
