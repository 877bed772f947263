// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/stored_as.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "connectors/s3/key_template.h"
#include "connectors/s3/upload.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace::s3_sink {
namespace {

using Options = S3SinkOptions;

// S3's own limits.
constexpr std::size_t kMostTags = 10;
constexpr std::size_t kMostTagName = 128;
constexpr std::size_t kMostTagValue = 256;
constexpr std::size_t kMostMetadata = 2048;  ///< names and values together

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}
bool is_name(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_plain); }

std::string_view content_type(OutputFormat format) {
  switch (format) {
    case OutputFormat::json_lines:
      return "application/x-ndjson";
    case OutputFormat::json_array:
      return "application/json";
    case OutputFormat::parquet:
      return "application/vnd.apache.parquet";
    case OutputFormat::raw:
      break;
  }
  return "application/octet-stream";
}

/// What says how a body was packed must be true, or readers fail or, worse, do not.
void check_content(const Options& o, Complaints& complaints, StoredAs& as) {
  // Content-Encoding has the codecs' own names.
  // The pages of Parquet are packed, not the file.
  const Codec codec = o.output_format == OutputFormat::parquet ? Codec::none : codec_of(o.compression);
  const std::string_view packed = codec == Codec::none ? "" : to_string(codec);
  as.content_encoding = o.content_encoding;
  if (!o.content_encoding.empty() && o.content_encoding != packed) {
    complaints.about("content_encoding",
                     packed.empty()
                         ? fmt::format("says '{}', and compression none packs nothing; set compression",
                                       printable(o.content_encoding, 100))
                         : fmt::format("says '{}', and the files are packed with {}; write content_encoding: {}, or "
                                       "leave it out",
                                       printable(o.content_encoding, 100), packed, packed));
  }
  if (!o.content_type.empty()) {
    as.content_type = o.content_type;
    if (!is_visible(o.content_type) || o.content_type.find('/') == std::string::npos)
      complaints.about("content_type", "is a media type: application/x-ndjson");
  } else if (packed.empty() || !o.content_encoding.empty()) {
    as.content_type = content_type(o.output_format);
  } else {
    as.content_type = fmt::format("application/{}", packed);
  }
}

void check_metadata(const Options& o, Complaints& complaints, StoredAs& as) {
  std::size_t bytes = kChecksumName.size() + 16;
  for (const auto& [given, value] : o.metadata) {
    std::string name = given;
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    if (name.starts_with("x-amz-meta-")) name.erase(0, std::string_view("x-amz-meta-").size());
    bytes += name.size() + value.size();
    const std::string shown = printable(given, 100);
    if (!is_name(name)) {
      complaints.about("metadata", fmt::format("'{}' is no name: letters, digits, '-', '_' and '.'", shown));
    } else if (name == kChecksumName) {
      complaints.about("metadata", fmt::format("'{}' is where the sink keeps its own checksum; choose another", shown));
    } else if (!is_visible(value)) {
      complaints.about("metadata",
                       fmt::format("the value of '{}' is not plain ASCII, which is all a header holds", shown));
    } else if (std::ranges::find(as.metadata, name, &std::pair<std::string, std::string>::first) != as.metadata.end()) {
      complaints.about("metadata", fmt::format("'{}' is there twice; names have no case", shown));
    }
    as.metadata.emplace_back(std::move(name), value);
  }
  if (bytes > kMostMetadata) {
    complaints.about("metadata", fmt::format("names and values come to {} bytes, with the sink's own; S3 takes {}",
                                             bytes, kMostMetadata));
  }
}

void check_tags(const Options& o, Complaints& complaints, StoredAs& as) {
  if (o.tags.size() > kMostTags)
    complaints.about("tags", fmt::format("are {}; an object takes {}", o.tags.size(), kMostTags));
  for (const auto& [name, value] : o.tags) {
    const std::string shown = printable(name, 100);
    if (name.empty() || name.size() > kMostTagName || value.size() > kMostTagValue) {
      complaints.about("tags", fmt::format("'{}' has {} bytes and its value {}; a name takes 1 to {}, a value {}",
                                           shown, name.size(), value.size(), kMostTagName, kMostTagValue));
    } else if (first_invalid_utf8(name) != std::string::npos || first_invalid_utf8(value) != std::string::npos) {
      complaints.about("tags", fmt::format("'{}' or its value is not UTF-8", shown));
    } else if (name.starts_with("aws:")) {
      complaints.about("tags", fmt::format("'{}' begins with aws:, which is for AWS alone", shown));
    }
    as.settings.tags.emplace_back(name, value);
  }
}

void check_keeping(const Options& o, Complaints& complaints, StoredAs& as) {
  as.settings.storage_class = o.storage_class;
  if (!o.storage_class.empty() && !is_name(o.storage_class))
    complaints.about("storage_class", "is a name as the store spells it: STANDARD_IA");
  as.settings.acl = o.acl;
  if (!o.acl.empty() && !is_name(o.acl)) complaints.about("acl", "is a canned one: bucket-owner-full-control");
  switch (o.sse) {
    case Sse::none:
      break;
    case Sse::s3:
      as.settings.encryption = Encryption::aes256;
      break;
    case Sse::kms:
      as.settings.encryption = Encryption::kms;
      break;
  }
  as.settings.kms_key_id = o.sse_kms_key_id;
  as.settings.bucket_key = o.sse_bucket_key;
  if (o.sse != Sse::kms) {
    if (!o.sse_kms_key_id.empty()) complaints.about("sse_kms_key_id", "belongs to sse: kms");
    if (o.sse_bucket_key) complaints.about("sse_bucket_key", "belongs to sse: kms");
  }
  if (!is_visible(o.sse_kms_key_id)) complaints.about("sse_kms_key_id", "is a key's id, ARN or alias");
  as.checksum = o.checksum;
}

/// A folder has no place for any of it.
void refuse_for_files(const Options& o, Complaints& complaints) {
  const std::array<std::pair<const char*, bool>, 11> given{
      {{"storage_class", !o.storage_class.empty()},
       {"sse", o.sse != Sse::none},
       {"acl", !o.acl.empty()},
       {"tags", !o.tags.empty()},
       {"metadata", !o.metadata.empty()},
       {"content_type", !o.content_type.empty()},
       {"content_encoding", !o.content_encoding.empty()},
       {"checksum", o.checksum != ChecksumKind::none},
       {"cleanup_uploads", o.cleanup_uploads},
       {"multipart_threshold", complaints.given("multipart_threshold")},
       {"part_size", complaints.given("part_size")}}};
  for (const auto& [key, is_given] : given) {
    if (is_given) complaints.about(key, "has no meaning with file://, where a file is its bytes; remove it");
  }
}

}  // namespace

Codec codec_of(FileCompression compression) {
  switch (compression) {
    case FileCompression::none:
      break;
    case FileCompression::gzip:
      return Codec::gzip;
    case FileCompression::zstd:
      return Codec::zstd;
  }
  return Codec::none;
}

StoredAs check_stored_as(const S3SinkOptions& options, const StoreUrl& base, Complaints& complaints) {
  StoredAs as;
  check_content(options, complaints, as);
  check_metadata(options, complaints, as);
  check_tags(options, complaints, as);
  check_keeping(options, complaints, as);
  if (base.scheme == "file") {
    refuse_for_files(options, complaints);
    return as;
  }
  as.multipart_threshold = options.multipart_threshold.bytes;
  as.part_bytes = options.part_size.bytes;
  return as;
}

}  // namespace millrace::s3_sink
