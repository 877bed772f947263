// SPDX-License-Identifier: Apache-2.0
// The XML of uploads in parts: what is sent to complete one, and what S3 answers. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace::s3 {

/// The body of CompleteMultipartUpload.
[[nodiscard]] std::string complete_xml(ChecksumKind checksum, std::span<const PartResult> parts);

// What follows fails (bad_response) on anything that is not the whole document.

/// The id that CreateMultipartUpload answers with.
[[nodiscard]] Result<std::string> parse_begun(std::string_view body);
/// ETag and checksum (as told; empty when it is not) of the object that was made.
[[nodiscard]] Result<PutResult> parse_completed(std::string_view body, ChecksumKind checksum);
/// A page of ListMultipartUploads. Its continuation is a token for markers_of().
[[nodiscard]] Result<UploadPage> parse_uploads(std::string_view body, std::string_view prefix);

/// Where the page after one goes on: both markers of S3 in one token.
struct UploadMarkers {
  std::string key;
  std::string id;
};
/// Nothing when the token is not one of ours.
[[nodiscard]] std::optional<UploadMarkers> markers_of(std::string_view continuation);

}  // namespace millrace::s3
