// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/s3_answers.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "tests/s3_fault_server/body_checksum.h"
#include "tests/s3_fault_server/uri.h"

namespace millrace::testing {

namespace {

std::tm utc(UnixMicros time) {
  const std::time_t seconds = time / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

// Tokens hold what careless clients break: + / = & % and a blank; what counts is the hex behind the last blank.
std::string token_for(std::string_view key) {
  std::string token = "1+/=&% ";
  for (const char c : key) token += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return token;
}

std::optional<std::string> key_of_token(std::string_view token) {
  if (!token.starts_with("1+/=&% ")) return std::nullopt;
  token.remove_prefix(7);
  if (token.size() % 2 != 0) return std::nullopt;
  std::string key;
  for (std::size_t i = 0; i < token.size(); i += 2) {
    unsigned byte = 0;
    if (std::from_chars(token.data() + i, token.data() + i + 2, byte, 16).ptr != token.data() + i + 2) {
      return std::nullopt;
    }
    key += static_cast<char>(byte);
  }
  return key;
}

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<ByteRange> parse_range(std::string_view header, std::uint64_t size) {
  if (!header.starts_with("bytes=")) return std::nullopt;
  header.remove_prefix(6);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  ByteRange range;
  std::from_chars(header.data(), header.data() + dash, range.first);
  range.last = size - 1;
  if (dash + 1 < header.size()) {
    std::from_chars(header.data() + dash + 1, header.data() + header.size(), range.last);
    range.last = std::min(range.last, size - 1);
  }
  return range;
}

bool matches(std::string_view condition, const StoredObject& object) {
  return condition == "*" || (object.etag && condition == *object.etag);
}

void describe(const StoredObject& object, const ServerFault& fault, HttpAnswer& answer) {
  if (!fault.no_etag && object.etag && !object.etag->empty()) answer.set_header("ETag", *object.etag);
  answer.set_header("Last-Modified", http_date(object.last_modified));
  answer.set_header("Content-Type", object.content_type.empty() ? "binary/octet-stream" : object.content_type);
  if (!object.content_encoding.empty()) answer.set_header("Content-Encoding", object.content_encoding);
  if (!object.storage_class.empty()) answer.set_header("x-amz-storage-class", object.storage_class);
  if (object.restored) answer.set_header("x-amz-restore", "ongoing-request=\"false\"");
  for (const auto& [name, value] : object.metadata) answer.set_header("x-amz-meta-" + name, value);
}

HttpAnswer serve_list(const LoggedRequest& request, ObjectTable& objects, std::size_t page_size,
                      const ServerFault& fault) {
  if (request.query_value("list-type") != "2") {
    return error_answer(501, "NotImplemented", "only ListObjectsV2 is served");
  }
  const std::string prefix(request.query_value("prefix"));
  std::string after(request.query_value("start-after"));
  if (const auto token = request.query_value("continuation-token"); !token.empty()) {
    const auto key = key_of_token(token);
    if (!key) return error_answer(400, "InvalidArgument", "The continuation token provided is incorrect");
    after = *key;
  }
  std::size_t limit = page_size;
  if (const auto asked = request.query_value("max-keys"); !asked.empty()) {
    std::size_t keys = 0;
    std::from_chars(asked.data(), asked.data() + asked.size(), keys);
    limit = std::min(limit, keys);
  }
  std::vector<std::pair<std::string, StoredObject>> found;
  const bool more = objects.list(request.bucket, prefix, after, limit, found);
  const bool url = request.query_value("encoding-type") == "url";
  const auto coded = [&](std::string_view text) { return url ? percent_encode(text, true) : xml_escaped(text); };
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name><Prefix>{}</Prefix><KeyCount>{}</KeyCount>"
      "<MaxKeys>{}</MaxKeys>{}<IsTruncated>{}</IsTruncated>",
      request.bucket, coded(prefix), found.size(), limit, url ? "<EncodingType>url</EncodingType>" : "", more);
  if (more) {
    xml += fmt::format("<NextContinuationToken>{}</NextContinuationToken>", xml_escaped(token_for(found.back().first)));
  }
  for (const auto& [key, object] : found) {
    xml += fmt::format("<Contents><Key>{}</Key><LastModified>{:%Y-%m-%dT%H:%M:%S}.{:03}Z</LastModified>", coded(key),
                       utc(object.last_modified), object.last_modified / 1000 % 1000);
    if (!fault.no_etag && object.etag && !object.etag->empty()) {
      xml += fmt::format("<ETag>{}</ETag>", xml_escaped(*object.etag));
    }
    xml += fmt::format("<Size>{}</Size><StorageClass>{}</StorageClass></Contents>", object.bytes->size(),
                       object.storage_class.empty() ? "STANDARD" : object.storage_class);
  }
  xml += "</ListBucketResult>";
  HttpAnswer answer;
  answer.set_header("Content-Type", "application/xml");
  answer.set_body(std::move(xml));
  return answer;
}

HttpAnswer serve_get(const LoggedRequest& request, ObjectTable& objects, const ServerFault& fault) {
  const auto object = objects.get(request.bucket, request.key);
  if (!object) return error_answer(404, "NoSuchKey", "The specified key does not exist.");
  const bool archived = object->storage_class == "GLACIER" || object->storage_class == "DEEP_ARCHIVE";
  if (archived && !object->restored) {
    return error_answer(403, "InvalidObjectState", "The operation is not valid for the object's storage class");
  }
  const auto& http = request.http;
  if (!fault.ignore_conditions && !fault.ignore_if_match && http.has_header("if-match") &&
      !matches(http.header("if-match"), *object)) {
    auto answer = error_answer(412, "PreconditionFailed", "At least one of the pre-conditions did not hold",
                               "<Condition>If-Match</Condition>");
    return answer;
  }
  HttpAnswer answer;
  describe(*object, fault, answer);
  answer.set_header("Accept-Ranges", "bytes");
  answer.body = object->bytes;
  const std::uint64_t size = object->bytes->size();
  answer.length = size;
  if (fault.ignore_range || !http.has_header("range")) return answer;
  auto range = size == 0 ? std::nullopt : parse_range(http.header("range"), size);
  if (!range || range->first >= size || range->first > range->last) {
    return error_answer(416, "InvalidRange", "The requested range is not satisfiable");
  }
  if (fault.shift_range != 0) {
    range->first = std::min(range->first + static_cast<std::uint64_t>(fault.shift_range), size - 1);
    range->last = std::min(range->last + static_cast<std::uint64_t>(fault.shift_range), size - 1);
  }
  if (fault.short_range) range->last = std::min(range->last, range->first + *fault.short_range - 1);
  answer.status = 206;
  answer.offset = range->first;
  answer.length = range->last - range->first + 1;
  answer.set_header("Content-Range",
                    fmt::format("bytes {}-{}/{}", range->first, range->last, fault.total_size.value_or(size)));
  return answer;
}

HttpAnswer serve_head(const LoggedRequest& request, ObjectTable& objects, const ServerFault& fault) {
  const auto object = objects.get(request.bucket, request.key);
  HttpAnswer answer;
  answer.head_only = true;
  if (!object) {
    answer.status = 404;
    return answer;
  }
  describe(*object, fault, answer);
  answer.length = object->bytes->size();
  return answer;
}

HttpAnswer serve_put(const LoggedRequest& request, ObjectTable& objects, const ServerFault& fault) {
  const auto& http = request.http;
  if (request.key.size() > 1024) return error_answer(400, "KeyTooLongError", "Your key is too long");
  const BodyChecksum checksum = body_checksum(http);
  if (!checksum.matches) return error_answer(400, "BadDigest", "The checksum you specified did not match");
  StoredObject object = described_object(http);
  object.bytes = std::make_shared<const std::string>(http.body);
  bool missing = false;
  const auto outcome = objects.put(request.bucket, request.key, std::move(object), [&](const StoredObject* there) {
    if (fault.ignore_conditions) return true;
    if (http.header("if-none-match") == "*" && there != nullptr) return false;
    if (fault.ignore_if_match || !http.has_header("if-match")) return true;
    missing = there == nullptr;
    return there != nullptr && matches(http.header("if-match"), *there);
  });
  if (outcome == ObjectTable::PutOutcome::precondition_failed) {
    if (missing) return error_answer(404, "NoSuchKey", "The specified key does not exist.");
    return error_answer(412, "PreconditionFailed", "At least one of the pre-conditions did not hold");
  }
  HttpAnswer answer;
  const auto stored = objects.get(request.bucket, request.key);
  if (!fault.no_etag && stored && stored->etag) answer.set_header("ETag", *stored->etag);
  if (!checksum.header.empty()) answer.set_header(checksum.header, checksum.value);
  return answer;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

StoredObject described_object(const HttpRequest& http) {
  StoredObject object;
  object.content_type = http.header("content-type");
  object.content_encoding = http.header("content-encoding");
  object.storage_class = http.header("x-amz-storage-class");
  for (const auto& [name, value] : http.headers) {
    constexpr std::string_view kPrefix = "x-amz-meta-";
    if (name.starts_with(kPrefix)) object.metadata.emplace_back(name.substr(kPrefix.size()), value);
  }
  return object;
}

HttpAnswer error_answer(int status, std::string_view code, std::string_view message, std::string_view extra) {
  HttpAnswer answer;
  answer.status = status;
  answer.set_header("Content-Type", "application/xml");
  answer.set_body(
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>{}"
                  "<RequestId>FAULT0000000001</RequestId><HostId>fault-server</HostId></Error>",
                  code, message, extra));
  return answer;
}

HttpAnswer serve(const LoggedRequest& request, ObjectTable& objects, std::size_t page_size, const ServerFault& fault) {
  if (!objects.has_bucket(request.bucket)) {
    return error_answer(404, "NoSuchBucket", "The specified bucket does not exist");
  }
  HttpAnswer answer = [&] {
    if (request.operation == "ListObjectsV2") return serve_list(request, objects, page_size, fault);
    if (request.operation == "GetObject") return serve_get(request, objects, fault);
    if (request.operation == "HeadObject") return serve_head(request, objects, fault);
    if (request.operation == "PutObject") return serve_put(request, objects, fault);
    if (request.operation == "DeleteObject") {
      objects.remove(request.bucket, request.key);
      HttpAnswer gone;
      gone.status = 204;
      return gone;
    }
    return error_answer(501, "NotImplemented",
                        fmt::format("this server has no answer to {} {}", request.http.method, request.http.target));
  }();
  if (fault.replace_object) {
    StoredObject object;
    object.bytes = std::make_shared<const std::string>(*fault.replace_object);
    (void)objects.put(request.bucket, request.key, std::move(object));
  }
  if (fault.delete_object) (void)objects.remove(request.bucket, request.key);
  return answer;
}

std::string http_date(UnixMicros time) { return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", utc(time)); }

}  // namespace millrace::testing
