// SPDX-License-Identifier: Apache-2.0
#include "store/shown_url.h"

#include "millrace/base/printable.h"

namespace millrace {
namespace {

constexpr std::string_view kHidden = "***";

std::size_t behind_scheme(std::string_view url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string_view::npos ? 0 : scheme + 3;
}

/// From the last '@' on, so that nothing of a password that holds one is left.
std::string without_user(std::string_view scheme, std::string_view rest) {
  return printable(scheme).append(kHidden).append(printable(rest.substr(rest.rfind('@'))));
}

}  // namespace

bool has_user_information(std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  return authority.find('@') != std::string_view::npos ||
         (authority.find(':') != std::string_view::npos && rest.find('@') != std::string_view::npos);
}

std::string shown_url(std::string_view url) {
  const std::string_view scheme = url.substr(0, behind_scheme(url));
  const std::string_view rest = url.substr(scheme.size());
  const std::string_view plain = rest.substr(0, rest.find_first_of("?#"));
  const std::string_view query = rest.substr(plain.size());
  // The '?' is the password's, or the '@' is the query's: what stands on either side may be a secret.
  if (query.contains('@')) return printable(scheme).append(kHidden);
  std::string shown =
      plain.contains('@') ? without_user(scheme, plain) : printable(url.substr(0, url.size() - query.size()));
  if (!query.empty()) shown.append(query.substr(0, 1)).append(kHidden);
  return shown;
}

std::string shown_key_url(std::string_view url) {
  const std::string_view scheme = url.substr(0, behind_scheme(url));
  const std::string_view rest = url.substr(scheme.size());
  return has_user_information(rest) ? without_user(scheme, rest) : printable(url);
}

}  // namespace millrace
