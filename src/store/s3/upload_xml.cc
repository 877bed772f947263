// SPDX-License-Identifier: Apache-2.0
#include "store/s3/upload_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/http_date.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/xml_tree.h"

namespace millrace::s3 {

namespace {

/// "ChecksumCRC64NVME"
std::string checksum_element(ChecksumKind kind) {
  std::string name(to_string(kind));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return "Checksum" + name;
}

void append_escaped(std::string& out, std::string_view text) {
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
}

std::unexpected<Error> bad(std::string_view wanted, std::string_view why) {
  return fail(Error::retryable(ErrorCode::bad_response, fmt::format("the answer is no {}: {}", wanted, why)));
}

/// The root element, which must have this name.
Result<pugi::xml_node> document_of(std::string_view body, std::string_view name, pugi::xml_document& document) {
  const auto parsed = parse_xml(body, document);
  if (!parsed) {
    return bad(name, fmt::format("{} at byte {} of {}", parsed.description(), parsed.offset, body.size()));
  }
  const pugi::xml_node found = root(document);
  if (local_name(found) != name) return bad(name, fmt::format("its root is <{}>", printable(found.name(), 40)));
  return found;
}

}  // namespace

std::string complete_xml(ChecksumKind checksum, std::span<const PartResult> parts) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const PartResult& part : parts) {
    xml += "<Part><ETag>";
    append_escaped(xml, part.etag.value);
    xml += "</ETag>";
    if (checksum != ChecksumKind::none && !part.checksum.empty()) {
      xml += fmt::format("<{0}>{1}</{0}>", checksum_element(checksum), part.checksum);
    }
    xml += fmt::format("<PartNumber>{}</PartNumber></Part>", part.number);
  }
  xml += "</CompleteMultipartUpload>";
  return xml;
}

Result<std::string> parse_begun(std::string_view body) {
  constexpr std::string_view kName = "InitiateMultipartUploadResult";
  pugi::xml_document document;
  MILLRACE_ASSIGN(const pugi::xml_node result, document_of(body, kName, document));
  std::string id(text(result, "UploadId"));
  if (id.empty()) return bad(kName, "it has no UploadId");
  return id;
}

Result<PutResult> parse_completed(std::string_view body, ChecksumKind checksum) {
  constexpr std::string_view kName = "CompleteMultipartUploadResult";
  pugi::xml_document document;
  MILLRACE_ASSIGN(const pugi::xml_node result, document_of(body, kName, document));
  PutResult done{ETag{std::string(text(result, "ETag"))}};
  if (done.etag.empty()) return bad(kName, "it has no ETag, so nothing proves that the object is stored");
  if (checksum != ChecksumKind::none) done.checksum = text(result, checksum_element(checksum));
  return done;
}

Result<UploadPage> parse_uploads(std::string_view body, std::string_view prefix) {
  constexpr std::string_view kName = "ListMultipartUploadsResult";
  pugi::xml_document document;
  MILLRACE_ASSIGN(const pugi::xml_node result, document_of(body, kName, document));
  const bool encoded = text(result, "EncodingType") == "url";
  const auto decoded = [encoded](std::string_view key) {
    return encoded ? decode_listed(key) : std::optional<std::string>(key);
  };
  const std::string_view truncated = text(result, "IsTruncated");
  if (truncated != "true" && truncated != "false") return bad(kName, "it does not say whether more follows");
  UploadPage page;
  for (const pugi::xml_node& node : result.children()) {
    if (local_name(node) != "Upload") continue;
    auto key = decoded(text(node, "Key"));
    if (!key || key->empty() || !key->starts_with(prefix)) {
      return bad(kName, fmt::format("key '{}' is none of those asked for", printable(text(node, "Key"))));
    }
    UploadInfo info{{*std::move(key), std::string(text(node, "UploadId"))}};
    if (info.upload.id.empty()) return bad(kName, fmt::format("no id for '{}'", printable(info.upload.key)));
    info.initiated = parse_iso_date(text(node, "Initiated")).value_or(kNoTimestamp);
    page.uploads.push_back(std::move(info));
  }
  if (truncated == "false") return page;
  const auto next = decoded(text(result, "NextKeyMarker"));
  if (!next || next->empty()) return bad(kName, "more follows, but there is no marker to ask with");
  page.continuation = encode_query(*next) + "&" + encode_query(text(result, "NextUploadIdMarker"));
  return page;
}

std::optional<UploadMarkers> markers_of(std::string_view continuation) {
  const auto between = continuation.find('&');
  if (between == continuation.npos) return std::nullopt;
  auto key = decode_listed(continuation.substr(0, between));
  auto id = decode_listed(continuation.substr(between + 1));
  if (!key || !id) return std::nullopt;
  return UploadMarkers{*std::move(key), *std::move(id)};
}

}  // namespace millrace::s3
