// SPDX-License-Identifier: Apache-2.0
// What a write asks S3 for, as headers, and what the answer says of it. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "store/s3/http_exchange.h"

namespace millrace::s3 {

/// Content type, content encoding, user metadata and settings of an object.
struct Described {
  std::string_view content_type;
  std::string_view content_encoding;
  const std::vector<std::pair<std::string, std::string>>& metadata;
  const ObjectSettings& settings;
};
[[nodiscard]] HeaderList describing_headers(const Described& object);

/// Refuses a key that S3 cannot take, and headers that would break out of their line.
[[nodiscard]] Result<void> check_write(std::string_view key, const HeaderList& headers, std::string_view doing);

/// "CRC32C", as S3 spells it in values and element names.
[[nodiscard]] std::string checksum_name(ChecksumKind kind);
/// "x-amz-checksum-crc32c"
[[nodiscard]] std::string checksum_header(ChecksumKind kind);
/// The ETag of an answer, which is what proves that `what` is stored: without one it is a bad_response.
[[nodiscard]] Result<ETag> stored_tag(std::string_view etag, std::string_view what);
/// Where the answer tells a checksum, it must be `ours`.
[[nodiscard]] Result<void> check_checksum(const HttpHead& head, ChecksumKind kind, std::string_view ours,
                                          std::string_view doing);

/// The error of a write that asked for more than bytes, with what it asked for, where the store may have refused that.
[[nodiscard]] Error with_asked(Error error, const ObjectSettings& settings, ChecksumKind checksum);

}  // namespace millrace::s3
