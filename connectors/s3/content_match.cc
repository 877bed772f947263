// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/content_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "connectors/s3/read_now.h"
#include "connectors/s3/upload.h"

namespace millrace::s3_sink {
namespace {

constexpr std::size_t kPiece = 1U << 20U;  ///< bounds what a comparison holds

Result<bool> same_bytes(ObjectStore& store, std::string_view key, std::string_view body, const ETag& etag) {
  std::string piece(std::min(kPiece, body.size()), '\0');
  for (std::size_t at = 0; at < body.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, body.size() - at));
    ReadOutcome outcome = read_now(store, {.key = std::string(key),
                                           .offset = at,
                                           .destination = piece,
                                           .if_match = etag.pins() ? etag : ETag(),
                                           .expected_object_size = body.size()});
    if (!outcome.info) return fail(std::move(outcome.info).error());
    if (piece != body.substr(at, piece.size())) return false;
  }
  return true;
}

}  // namespace

Result<Found> match_content(ObjectStore& store, std::string_view key, std::string_view body) {
  auto head = store.head(key);
  if (!head && head.error().code() == ErrorCode::not_found) return Found{Match::absent, ""};
  if (!head) return fail(std::move(head).error());
  if (head->info.size != body.size()) {
    return Found{Match::different, fmt::format("it has {} bytes, the new one {}", head->info.size, body.size())};
  }
  const auto kept = std::ranges::find(head->metadata, kChecksumName, &std::pair<std::string, std::string>::first);
  if (kept != head->metadata.end()) {
    const std::string ours = checksum(body);
    if (kept->second == ours) return Found{Match::same, ""};
    return Found{Match::different, fmt::format("both have {} bytes, its checksum is {}, that of the new one {}",
                                               body.size(), kept->second, ours)};
  }
  MILLRACE_ASSIGN(const bool same, same_bytes(store, key, body, head->info.etag));
  if (same) return Found{Match::same, ""};
  return Found{Match::different, fmt::format("both have {} bytes, which differ", body.size())};
}

}  // namespace millrace::s3_sink
