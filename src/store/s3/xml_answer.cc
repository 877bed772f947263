// SPDX-License-Identifier: Apache-2.0
#include "store/s3/xml_answer.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/http_date.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/xml_tree.h"

namespace millrace::s3 {

namespace {

constexpr std::string_view kListing = "ListBucketResult";

std::unexpected<Error> bad(std::string_view why) { return bad_document(kListing, why); }

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Result<ObjectInfo> parse_object(const pugi::xml_node& node, bool encoded, std::string_view prefix) {
  const pugi::xml_node key = child(node, "Key");
  if (!key) return bad("an object without a key");
  ObjectInfo object;
  if (encoded) {
    auto decoded = decode_listed(key.text().get());
    if (!decoded) return bad(fmt::format("key '{}' is not url-encoded", printable(key.text().get())));
    object.key = std::move(*decoded);
  } else {
    object.key = key.text().get();
  }
  if (object.key.empty()) return bad("an object with an empty key");
  if (!object.key.starts_with(prefix)) {
    return bad(fmt::format("key '{}' does not begin with the prefix asked for", printable(object.key)));
  }
  const auto size = number(text(node, "Size"));
  if (!size) return bad(fmt::format("no size of '{}'", printable(object.key)));
  object.size = *size;
  object.etag.value = text(node, "ETag");
  object.last_modified = parse_iso_date(text(node, "LastModified")).value_or(kNoTimestamp);
  object.storage_class = text(node, "StorageClass");
  return object;
}

}  // namespace

std::optional<XmlError> parse_error_xml(std::string_view body) {
  pugi::xml_document document;
  if (!parse_xml(body, document)) return std::nullopt;
  pugi::xml_node node = root(document);
  if (local_name(node) == "ErrorResponse") node = child(node, "Error");
  if (local_name(node) != "Error") return std::nullopt;
  XmlError error;
  error.code = text(node, "Code");
  error.message = text(node, "Message");
  error.region = text(node, "Region");
  error.request_id = text(node, "RequestId");
  return error;
}

Result<ListPage> parse_listing(std::string_view body, std::string_view prefix) {
  pugi::xml_document document;
  MILLRACE_ASSIGN(const pugi::xml_node result, document_of(body, kListing, document));
  const bool encoded = text(result, "EncodingType") == "url";
  const std::string_view truncated = text(result, "IsTruncated");
  if (truncated != "true" && truncated != "false") return bad("it does not say whether more follows (IsTruncated)");

  ListPage page;
  for (const pugi::xml_node& node : result.children()) {
    if (local_name(node) != "Contents") continue;
    MILLRACE_ASSIGN(ObjectInfo object, parse_object(node, encoded, prefix));
    page.objects.push_back(std::move(object));
  }
  if (truncated == "true") {
    page.continuation = text(result, "NextContinuationToken");
    if (page.continuation.empty()) return bad("more follows, but there is no token to ask with");
  }
  return page;
}

}  // namespace millrace::s3
