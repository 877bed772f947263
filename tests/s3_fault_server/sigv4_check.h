// SPDX-License-Identifier: Apache-2.0
// AWS Signature Version 4 as the server sees it: recomputed from the raw bytes of the request with OpenSSL's HMAC.
// Shares no code with the client's signer, so that each checks the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/time.h"
#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

/// The Authorization header, taken apart.
struct Sigv4Header {
  std::string access_key;
  std::string date;  ///< yyyymmdd of the scope
  std::string region;
  std::string service;
  std::string signed_headers;  ///< as sent: names with ';' between them
  std::string signature;
};
/// Nothing when it is not an AWS4-HMAC-SHA256 header.
[[nodiscard]] std::optional<Sigv4Header> parse_sigv4_header(std::string_view authorization);

/// The canonical request of what was sent. S3's rules: the path is decoded and encoded once, never normalised.
[[nodiscard]] std::string canonical_request(const HttpRequest& request, std::string_view signed_headers);
/// The signature (lower-case hex) that the request must carry.
[[nodiscard]] std::string sigv4_signature(const HttpRequest& request, const Sigv4Header& header,
                                          std::string_view secret);

/// `20130524T000000Z` as microseconds since the epoch; nothing when it is not of that form.
[[nodiscard]] std::optional<UnixMicros> parse_amz_date(std::string_view text);

[[nodiscard]] std::string sha256_hex(std::string_view bytes);
[[nodiscard]] std::string md5_hex(std::string_view bytes);

}  // namespace millrace::testing
