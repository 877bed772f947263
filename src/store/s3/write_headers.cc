// SPDX-License-Identifier: Apache-2.0
#include "store/s3/write_headers.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/printable.h"
#include "store/s3/request_check.h"
#include "store/s3/uri_encoding.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestKey = 1024;  // bytes of UTF-8, S3's own limit

std::string encode_tags(const std::vector<std::pair<std::string, std::string>>& tags) {
  std::string text;
  for (const auto& [name, value] : tags) {
    if (!text.empty()) text += '&';
    text.append(encode_query(name)).append("=").append(encode_query(value));
  }
  return text;
}

}  // namespace

HeaderList describing_headers(const Described& object) {
  HeaderList headers;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) headers.emplace_back(name, value);
  };
  add("Content-Type", object.content_type);
  add("Content-Encoding", object.content_encoding);
  for (const auto& [name, value] : object.metadata) headers.emplace_back("x-amz-meta-" + name, value);
  const ObjectSettings& settings = object.settings;
  add("x-amz-storage-class", settings.storage_class);
  if (settings.encryption != Encryption::none) {
    add("x-amz-server-side-encryption", settings.encryption == Encryption::kms ? "aws:kms" : "AES256");
  }
  add("x-amz-server-side-encryption-aws-kms-key-id", settings.kms_key_id);
  if (settings.bucket_key) {
    add("x-amz-server-side-encryption-bucket-key-enabled", *settings.bucket_key ? "true" : "false");
  }
  add("x-amz-acl", settings.acl);
  add("x-amz-tagging", encode_tags(settings.tags));
  return headers;
}

Result<void> check_write(std::string_view key, const HeaderList& headers, std::string_view doing) {
  if (key.size() > kLongestKey) {
    return fail(Error::fatal(
        ErrorCode::limit, fmt::format("{}: the key has {} bytes, and S3 allows {}", doing, key.size(), kLongestKey)));
  }
  if (key.empty()) return refused(doing, "an empty key is refused");
  for (const auto& [name, value] : headers) {
    if (!fits_header(name) || !fits_header(value)) {
      return refused(doing, fmt::format("header {} with control characters is refused", printable(name, 80)));
    }
  }
  return {};
}

std::string checksum_name(ChecksumKind kind) {
  std::string name(to_string(kind));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

std::string checksum_header(ChecksumKind kind) { return fmt::format("x-amz-checksum-{}", to_string(kind)); }

Result<ETag> stored_tag(std::string_view etag, std::string_view what) {
  if (!etag.empty()) return ETag{std::string(etag)};
  return fail(Error::retryable(ErrorCode::bad_response,
                               fmt::format("the answer has no ETag, so nothing proves that the {} is stored", what)));
}

Result<void> check_checksum(const HttpHead& head, ChecksumKind kind, std::string_view ours, std::string_view doing) {
  if (kind == ChecksumKind::none) return {};
  const std::string_view theirs = head.header(checksum_header(kind));
  if (theirs.empty() || theirs == ours) return {};
  return fail(Error::retryable(ErrorCode::bad_response,
                               fmt::format("{}: the store has bytes whose {} is {}, and what was sent has {}", doing,
                                           to_string(kind), printable(theirs, 80), ours)));
}

Error with_asked(Error error, const ObjectSettings& settings, ChecksumKind checksum) {
  const auto names = names_of(settings, checksum);
  if (names.empty() || (error.code() != ErrorCode::not_supported && error.code() != ErrorCode::invalid_request)) {
    return error;
  }
  std::string told =
      fmt::format("{}; it asked for {}, which not every store takes", error.message(), fmt::join(names, ", "));
  return std::move(error).with_message(std::move(told));
}

}  // namespace millrace::s3
