// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/upload_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/s3_fault_server/body_checksum.h"
#include "tests/s3_fault_server/s3_answers.h"
#include "tests/s3_fault_server/sigv4_check.h"
#include "tests/s3_fault_server/uri.h"

namespace millrace::testing {

namespace {

bool has(const LoggedRequest& request, std::string_view name) {
  return std::ranges::find(request.query, name, &std::pair<std::string, std::string>::first) != request.query.end();
}

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

HttpAnswer refused(const UploadRefusal& refusal) { return error_answer(refusal.status, refusal.code, refusal.message); }

HttpAnswer xml_answer(std::string body) {
  HttpAnswer answer;
  answer.set_header("Content-Type", "application/xml");
  answer.set_body("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + std::move(body));
  return answer;
}

/// What stands between <name> and </name> from `at` on; moves `at` behind it.
std::optional<std::string_view> element(std::string_view xml, std::string_view name, std::size_t& at) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  const auto begin = xml.find(open, at);
  if (begin == xml.npos) return std::nullopt;
  const auto end = xml.find(close, begin);
  if (end == xml.npos) return std::nullopt;
  at = end + close.size();
  return xml.substr(begin + open.size(), end - begin - open.size());
}

std::string unescaped(std::string_view text) {
  std::string out(text);
  for (const auto& [coded, plain] : {std::pair{"&quot;", "\""}, std::pair{"&lt;", "<"}, std::pair{"&amp;", "&"}}) {
    for (std::size_t at; (at = out.find(coded)) != out.npos;) out.replace(at, std::string_view(coded).size(), plain);
  }
  return out;
}

std::vector<NamedPart> named_parts(std::string_view xml) {
  std::vector<NamedPart> parts;
  std::size_t at = 0;
  while (const auto part = element(xml, "Part", at)) {
    std::size_t inside = 0;
    const auto number = element(*part, "PartNumber", inside);
    inside = 0;
    const auto etag = element(*part, "ETag", inside);
    parts.push_back({number ? number_of(*number) : 0, etag ? unescaped(*etag) : ""});
  }
  return parts;
}

HttpAnswer create(const LoggedRequest& request, UploadTable& uploads) {
  if (request.key.size() > 1024) return error_answer(400, "KeyTooLongError", "Your key is too long");
  BegunUpload upload;
  upload.bucket = request.bucket;
  upload.key = request.key;
  upload.object = described_object(request.http);
  upload.checksum_algorithm = request.http.header("x-amz-checksum-algorithm");
  const std::string id = uploads.begin(std::move(upload));
  return xml_answer(
      fmt::format("<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>{}"
                  "</Bucket><Key>{}</Key><UploadId>{}</UploadId></InitiateMultipartUploadResult>",
                  request.bucket, xml_escaped(request.key), xml_escaped(id)));
}

HttpAnswer upload_part(const LoggedRequest& request, UploadTable& uploads, const ServerFault& fault) {
  const BodyChecksum checksum = body_checksum(request.http);
  if (!checksum.matches) return error_answer(400, "BadDigest", "The checksum you specified did not match");
  const std::string etag = '"' + md5_hex(request.http.body) + '"';
  const auto refusal = uploads.put_part(request.query_value("uploadId"), request.key,
                                        number_of(request.query_value("partNumber")), {request.http.body, etag});
  if (refusal) return refused(*refusal);
  HttpAnswer answer;
  if (!fault.no_etag) answer.set_header("ETag", etag);
  if (!checksum.header.empty()) answer.set_header(checksum.header, checksum.value);
  return answer;
}

/// The element of the answer that tells the checksum of the whole object; empty without one.
std::string checksum_element(const BegunUpload& whole) {
  if (whole.checksum_algorithm.empty()) return {};
  const std::string algorithm = lower_case(whole.checksum_algorithm);
  std::string text;
  if (algorithm == "crc64nvme") {
    text = checksum_text(algorithm, *whole.object.bytes);
  } else {
    std::string values;
    for (const auto& [number, part] : whole.parts) values += checksum_value(algorithm, part.bytes);
    text = fmt::format("{}-{}", checksum_text(algorithm, values), whole.parts.size());
  }
  return fmt::format("<Checksum{0}>{1}</Checksum{0}>", whole.checksum_algorithm, text);
}

HttpAnswer complete(const LoggedRequest& request, ObjectTable& objects, UploadTable& uploads,
                    const ServerFault& fault) {
  const auto id = request.query_value("uploadId");
  BegunUpload whole;
  if (const auto refusal = uploads.join(id, request.key, named_parts(request.http.body), whole)) {
    return refused(*refusal);
  }
  const bool create_only = request.http.header("if-none-match") == "*" && !fault.ignore_conditions;
  const std::string etag = *whole.object.etag;
  const auto outcome = objects.put(request.bucket, request.key, whole.object,
                                   [&](const StoredObject* there) { return !create_only || there == nullptr; });
  if (outcome == ObjectTable::PutOutcome::precondition_failed) {
    return error_answer(412, "PreconditionFailed", "At least one of the pre-conditions did not hold");
  }
  (void)uploads.end(id, request.key);
  return xml_answer(fmt::format(
      "<CompleteMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>{}</Bucket><Key>{}"
      "</Key>{}{}</CompleteMultipartUploadResult>",
      request.bucket, xml_escaped(request.key), fault.no_etag ? "" : fmt::format("<ETag>{}</ETag>", xml_escaped(etag)),
      checksum_element(whole)));
}

HttpAnswer list(const LoggedRequest& request, const UploadTable& uploads, std::size_t page_size) {
  const std::string prefix(request.query_value("prefix"));
  const std::string key_marker(request.query_value("key-marker"));
  const std::string id_marker(request.query_value("upload-id-marker"));
  std::size_t limit = page_size;
  if (const auto asked = request.query_value("max-uploads"); !asked.empty()) {
    limit = std::min(limit, static_cast<std::size_t>(number_of(asked)));
  }
  const bool url = request.query_value("encoding-type") == "url";
  const auto coded = [&](std::string_view text) { return url ? percent_encode(text, true) : xml_escaped(text); };
  std::string entries;
  std::string next;
  std::size_t count = 0;
  bool more = false;
  for (const BegunUpload& upload : uploads.uploads(request.bucket)) {
    const bool before = id_marker.empty() ? upload.key <= key_marker
                                          : std::tie(upload.key, upload.id) <= std::tie(key_marker, id_marker);
    if (!upload.key.starts_with(prefix) || (!key_marker.empty() && before)) continue;
    if (count == limit) {
      more = true;
      break;
    }
    ++count;
    entries += fmt::format(
        "<Upload><Key>{}</Key><UploadId>{}</UploadId><Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>",
        coded(upload.key), xml_escaped(upload.id));
    next = fmt::format("<NextKeyMarker>{}</NextKeyMarker><NextUploadIdMarker>{}</NextUploadIdMarker>",
                       coded(upload.key), xml_escaped(upload.id));
  }
  return xml_answer(fmt::format(
      "<ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>{}</Bucket>{}{}"
      "<IsTruncated>{}</IsTruncated>{}</ListMultipartUploadsResult>",
      request.bucket, url ? "<EncodingType>url</EncodingType>" : "", more ? next : "", more, entries));
}

}  // namespace

std::string_view upload_operation(const LoggedRequest& request) {
  const std::string& method = request.http.method;
  if (request.key.empty()) return method == "GET" && has(request, "uploads") ? "ListMultipartUploads" : "";
  if (method == "POST" && has(request, "uploads")) return "CreateMultipartUpload";
  if (!has(request, "uploadId")) return "";
  if (method == "POST") return "CompleteMultipartUpload";
  if (method == "DELETE") return "AbortMultipartUpload";
  return method == "PUT" && has(request, "partNumber") ? "UploadPart" : "";
}

HttpAnswer serve_upload(const LoggedRequest& request, ObjectTable& objects, UploadTable& uploads, std::size_t page_size,
                        const ServerFault& fault) {
  if (!objects.has_bucket(request.bucket)) {
    return error_answer(404, "NoSuchBucket", "The specified bucket does not exist");
  }
  if (request.operation == "CreateMultipartUpload") return create(request, uploads);
  if (request.operation == "UploadPart") return upload_part(request, uploads, fault);
  if (request.operation == "CompleteMultipartUpload") return complete(request, objects, uploads, fault);
  if (request.operation == "ListMultipartUploads") return list(request, uploads, page_size);
  if (!uploads.end(request.query_value("uploadId"), request.key)) {
    return error_answer(404, "NoSuchUpload", "The specified upload does not exist");
  }
  HttpAnswer gone;
  gone.status = 204;
  return gone;
}

}  // namespace millrace::testing
