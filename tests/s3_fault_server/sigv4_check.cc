// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/sigv4_check.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include "tests/s3_fault_server/uri.h"

namespace millrace::testing {

namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), out, &length, kind, nullptr);
  return {reinterpret_cast<const char*>(out), length};
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), out, &length);
  return {reinterpret_cast<const char*>(out), length};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Blanks around are gone already; runs of blanks inside count as one.
std::string squeezed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ' ' && !out.empty() && out.back() == ' ') continue;
    out += c;
  }
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) { return hex(digest(EVP_sha256(), bytes)); }
std::string md5_hex(std::string_view bytes) { return hex(digest(EVP_md5(), bytes)); }

std::optional<Sigv4Header> parse_sigv4_header(std::string_view authorization) {
  constexpr std::string_view kScheme = "AWS4-HMAC-SHA256 ";
  if (!authorization.starts_with(kScheme)) return std::nullopt;
  Sigv4Header header;
  for (std::string_view field : split(authorization.substr(kScheme.size()), ',')) {
    while (field.starts_with(' ')) field.remove_prefix(1);
    const auto equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto name = field.substr(0, equals);
    const auto value = field.substr(equals + 1);
    if (name == "SignedHeaders") header.signed_headers = value;
    if (name == "Signature") header.signature = value;
    if (name == "Credential") {
      const auto scope = split(value, '/');
      if (scope.size() != 5 || scope[4] != "aws4_request") return std::nullopt;
      header.access_key = scope[0];
      header.date = scope[1];
      header.region = scope[2];
      header.service = scope[3];
    }
  }
  if (header.access_key.empty() || header.signed_headers.empty() || header.signature.empty()) return std::nullopt;
  return header;
}

std::string canonical_request(const HttpRequest& request, std::string_view signed_headers) {
  const std::string_view target = request.target;
  const auto question = target.find('?');
  const auto path = percent_decode(target.substr(0, question)).value_or("");
  auto query = parse_query(question == std::string_view::npos ? "" : target.substr(question + 1)).value_or(Query{});
  for (auto& [name, value] : query) {
    name = percent_encode(name, false);
    value = percent_encode(value, false);
  }
  std::ranges::sort(query);
  std::string canonical_query;
  for (const auto& [name, value] : query) {
    if (!canonical_query.empty()) canonical_query += '&';
    canonical_query += name + "=" + value;
  }
  std::string headers;
  for (const auto name : split(signed_headers, ';')) {
    std::string values;
    for (const auto& [sent, value] : request.headers) {
      if (sent != name) continue;
      if (!values.empty()) values += ',';
      values += squeezed(value);
    }
    headers += fmt::format("{}:{}\n", name, values);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, percent_encode(path, true), canonical_query, headers,
                     signed_headers, request.header("x-amz-content-sha256"));
}

std::string sigv4_signature(const HttpRequest& request, const Sigv4Header& header, std::string_view secret) {
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", header.date, header.region, header.service);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", request.header("x-amz-date"), scope,
                                          sha256_hex(canonical_request(request, header.signed_headers)));
  std::string key = hmac("AWS4" + std::string(secret), header.date);
  for (const std::string_view part :
       {std::string_view(header.region), std::string_view(header.service), std::string_view("aws4_request")}) {
    key = hmac(key, part);
  }
  return hex(hmac(key, to_sign));
}

std::optional<UnixMicros> parse_amz_date(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = -1;
    const auto* begin = text.data() + at;
    const auto parsed = std::from_chars(begin, begin + length, value);
    return parsed.ptr == begin + length ? value : -1;
  };
  const int year = number(0, 4);
  const int month = number(4, 2);
  const int day = number(6, 2);
  const int hour = number(9, 2);
  const int minute = number(11, 2);
  const int second = number(13, 2);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((static_cast<UnixMicros>(days) * 24 + hour) * 60 + minute) * 60'000'000 + UnixMicros{second} * 1'000'000;
}

}  // namespace millrace::testing
