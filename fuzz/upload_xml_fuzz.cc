// SPDX-License-Identifier: Apache-2.0
// Any bytes as the XML of uploads: each document is taken whole or refused. What is taken proves what it says: an
// upload has an id, an object an ETag, listed keys have the prefix that was asked for, and a continuation is one of
// ours. The first byte picks the prefix.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/s3/upload_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view prefix = data[0] == 'p' ? "in/" : "";
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  (void)s3::markers_of(body);
  if (const auto begun = s3::parse_begun(body); begun && begun->empty()) std::abort();
  for (const ChecksumKind kind : {ChecksumKind::none, ChecksumKind::crc64nvme}) {
    const auto done = s3::parse_completed(body, kind);
    if (done && (done->etag.empty() || (kind == ChecksumKind::none && !done->checksum.empty()))) std::abort();
  }
  const auto page = s3::parse_uploads(body, prefix);
  if (!page) return 0;
  for (const auto& info : page->uploads) {
    if (info.upload.key.empty() || !info.upload.key.starts_with(prefix) || info.upload.id.empty()) std::abort();
  }
  if (!page->continuation.empty() && !s3::markers_of(page->continuation)) std::abort();
  return 0;
}
