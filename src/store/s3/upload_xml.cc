// SPDX-License-Identifier: Apache-2.0
#include "store/s3/upload_xml.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/http_date.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/write_headers.h"
#include "store/s3/xml_tree.h"

namespace millrace::s3 {

namespace {

/// "ChecksumCRC64NVME"
std::string checksum_element(ChecksumKind kind) { return "Checksum" + checksum_name(kind); }

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
  if (id.empty()) return bad_document(kName, "it has no UploadId");
  return id;
}

Result<PutResult> parse_completed(std::string_view body, ChecksumKind checksum) {
  constexpr std::string_view kName = "CompleteMultipartUploadResult";
  pugi::xml_document document;
  MILLRACE_ASSIGN(const pugi::xml_node result, document_of(body, kName, document));
  MILLRACE_ASSIGN(ETag etag, stored_tag(text(result, "ETag"), "object"));
  PutResult done{std::move(etag)};
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
  if (truncated != "true" && truncated != "false") return bad_document(kName, "it does not say whether more follows");
  UploadPage page;
  for (const pugi::xml_node& node : result.children()) {
    if (local_name(node) != "Upload") continue;
    auto key = decoded(text(node, "Key"));
    if (!key || key->empty() || !key->starts_with(prefix)) {
      return bad_document(kName, fmt::format("key '{}' is none of those asked for", printable(text(node, "Key"))));
    }
    UploadInfo info{{*std::move(key), std::string(text(node, "UploadId"))}};
    if (info.upload.id.empty()) return bad_document(kName, fmt::format("no id for '{}'", printable(info.upload.key)));
    info.initiated = parse_iso_date(text(node, "Initiated")).value_or(kNoTimestamp);
    page.uploads.push_back(std::move(info));
  }
  if (truncated == "false") return page;
  const auto next = decoded(text(result, "NextKeyMarker"));
  if (!next || next->empty()) return bad_document(kName, "more follows, but there is no marker to ask with");
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
