// SPDX-License-Identifier: Apache-2.0
// Signs requests by AWS Signature Version 4 through aws-c-auth. Pure: time and credentials are given. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "store/s3/credentials.h"
#include "store/s3/http_exchange.h"

namespace millrace::s3 {

/// Sent instead of a hash of the body.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
/// SHA-256 of no bytes.
inline constexpr std::string_view kEmptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct SigningInput {
  std::string_view method;
  std::string_view target;    ///< path and query exactly as they go on the request line
  const HeaderList& headers;  ///< host and all others that are to be signed
  std::string_view payload;   ///< lower-case hex SHA-256 of the body, or kUnsignedPayload
  std::string_view region;
  UnixMicros now = 0;
  std::string_view service = "s3";
};

/// The headers to add: X-Amz-Date, x-amz-content-sha256, Authorization, and X-Amz-Security-Token with a session.
[[nodiscard]] Result<HeaderList> sign(const SigningInput& input, const Credentials& credentials);

/// Lower-case hex.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace millrace::s3
