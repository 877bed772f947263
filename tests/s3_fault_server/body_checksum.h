// SPDX-License-Identifier: Apache-2.0
// The checksums that a request carries, recomputed from its body bit by bit: no code is shared with the client's. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

/// The value itself, first byte first; `algorithm` is crc32, crc32c, crc64nvme or sha256. Empty for any other.
[[nodiscard]] std::string checksum_value(std::string_view algorithm, std::string_view bytes);
/// The same in base64.
[[nodiscard]] std::string checksum_text(std::string_view algorithm, std::string_view bytes);

struct BodyChecksum {
  std::string algorithm;  ///< empty: the request carries none
  std::string header;     ///< x-amz-checksum-<algorithm>
  std::string value;      ///< of the body
  bool matches = true;    ///< what the request says is that
};
[[nodiscard]] BodyChecksum body_checksum(const HttpRequest& request);

}  // namespace millrace::testing
