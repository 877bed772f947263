// SPDX-License-Identifier: Apache-2.0
// The XML that S3 answers with: pages of a listing, and errors. Foreign bytes: everything is checked, nothing is
// guessed. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace::s3 {

/// What an <Error> document says.
struct XmlError {
  std::string code;
  std::string message;
  std::string region;  ///< where the bucket is, when it is said
  std::string request_id;
};
/// Nothing when the bytes are no XML error.
[[nodiscard]] std::optional<XmlError> parse_error_xml(std::string_view body);

/// One page of ListObjectsV2. Fails (bad_response) on anything that is not a whole ListBucketResult: an unparsable or
/// empty body, HTML, an object without key or size, a key outside `prefix`, a truncated page without a token. Keys are
/// decoded exactly once, when the answer says that they are encoded.
[[nodiscard]] Result<ListPage> parse_listing(std::string_view body, std::string_view prefix);

}  // namespace millrace::s3
