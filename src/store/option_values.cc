// SPDX-License-Identifier: Apache-2.0
#include "store/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace millrace {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<Error> refuse(std::string reason) { return fail(Error::config(std::move(reason))); }

Result<std::string> checked_flag(std::string_view value) {
  const std::string word = lower(value);
  if (word == "true" || word == "1" || word == "yes" || word == "on") return "true";
  if (word == "false" || word == "0" || word == "no" || word == "off") return "false";
  return refuse("must be true or false");
}

Result<std::string> checked_count(std::string_view value) {
  const bool number = !value.empty() && value.size() <= 9 && std::ranges::all_of(value, is_digit);
  return number ? Result<std::string>(std::string(value)) : refuse("must be a whole number below 1,000,000,000");
}

Result<std::string> checked_checksum(std::string_view value) {
  std::string word = lower(value);
  std::erase(word, '-');
  std::erase(word, '_');
  if (word == "sha256" || word == "crc32c" || word == "crc64nvme" || word == "none") return word;
  return refuse("must be none, or left out: there is no choice of another checksum yet");
}

/// B01: one trailing slash is dropped; anything that could be joined into another url is refused.
Result<std::string> checked_endpoint(std::string_view value) {
  const std::string word = lower(value.substr(0, 8));
  const std::size_t scheme = word.starts_with("https://") ? 8 : word.starts_with("http://") ? 7 : 0;
  if (scheme == 0) return refuse("must be an http:// or https:// url, for instance https://s3.example.com");
  std::string_view rest = value.substr(scheme);
  if (rest.find('@') != std::string_view::npos) {
    return refuse("may not carry credentials; give them as access_key_id and secret_access_key");
  }
  if (rest.find_first_of("?# \t\r\n") != std::string_view::npos) {
    return refuse("may not hold a query, a fragment or spaces");
  }
  if (rest.find("//") != std::string_view::npos) return refuse("holds an empty path segment ('//')");
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.front() == '/' || rest.front() == ':') return refuse("names no host");
  return word.substr(0, scheme) + std::string(rest);
}

}  // namespace

std::optional<Duration> store_duration(std::string_view text) {
  using Unit = std::pair<std::string_view, std::int64_t>;
  static constexpr std::array<Unit, 7> kUnits{Unit{"d", 86'400'000'000'000},
                                              Unit{"h", 3'600'000'000'000},
                                              Unit{"m", 60'000'000'000},
                                              Unit{"s", 1'000'000'000},
                                              Unit{"ms", 1'000'000},
                                              Unit{"us", 1'000},
                                              Unit{"ns", 1}};
  std::int64_t total = 0;
  const Unit* next = kUnits.begin();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || !is_digit(text.front())) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::string_view name = text.substr(0, std::min(text.find_first_of("0123456789"), text.size()));
    const Unit* unit = std::find_if(next, kUnits.end(), [&](const Unit& u) { return u.first == name; });
    std::int64_t part = 0;
    if (unit == kUnits.end() || __builtin_mul_overflow(number, unit->second, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return std::nullopt;
    }
    next = unit + 1;
    text.remove_prefix(name.size());
  }
  return Duration(total);
}

Result<std::string> checked_store_value(StoreOptionKind kind, std::string_view value) {
  switch (kind) {
    case StoreOptionKind::flag:
      return checked_flag(value);
    case StoreOptionKind::count:
      return checked_count(value);
    case StoreOptionKind::checksum:
      return checked_checksum(value);
    case StoreOptionKind::endpoint:
      return checked_endpoint(value);
    case StoreOptionKind::duration:
      if (!store_duration(value)) return refuse("must be a duration such as 5s, 250ms or 1m30s");
      return std::string(value);
    case StoreOptionKind::text:
      break;
  }
  if (value.empty()) return refuse("is empty; leave it out, or give it a value");
  if (value.find_first_of(std::string_view("\0\r\n", 3)) != std::string_view::npos) {
    return refuse("holds a line end or a NUL byte");
  }
  return std::string(value);
}

bool is_loopback_endpoint(std::string_view endpoint) {
  const std::size_t scheme = endpoint.find("://");
  std::string_view host = scheme == std::string_view::npos ? endpoint : endpoint.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
  host = host.substr(0, host.find(':'));
  if (lower(host) == "localhost") return true;
  return host.starts_with("127.") && std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.'; }) &&
         std::ranges::count(host, '.') == 3;
}

}  // namespace millrace
