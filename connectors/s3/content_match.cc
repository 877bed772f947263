// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/content_match.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "connectors/s3/read_now.h"
#include "connectors/s3/upload.h"

namespace millrace::s3_sink {
namespace {

constexpr std::size_t kPiece = 1U << 20U;  ///< bounds what a comparison holds

Result<std::string> checksum_of(ObjectStore& store, std::string_view key, std::uint64_t size, const ETag& etag) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::string piece(std::min<std::uint64_t>(kPiece, size), '\0');
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPiece, size - at));
    ReadOutcome outcome = read_now(store, {.key = std::string(key),
                                           .offset = at,
                                           .destination = piece,
                                           .if_match = etag.pins() ? etag : ETag(),
                                           .expected_object_size = size});
    if (!outcome.info) return fail(std::move(outcome.info).error());
    XXH3_64bits_update(state.get(), piece.data(), piece.size());
  }
  return to_checksum(XXH3_64bits_digest(state.get()));
}

}  // namespace

Result<Found> match_content(ObjectStore& store, std::string_view key, std::uint64_t size, std::string_view checksum) {
  auto head = store.head(key);
  if (!head && head.error().code() == ErrorCode::not_found) return Found{Match::absent, ""};
  if (!head) return fail(std::move(head).error());
  if (head->info.size != size)
    return Found{Match::different, fmt::format("it has {} bytes, ours has {}", head->info.size, size)};
  const auto kept = std::ranges::find(head->metadata, kChecksumName, &std::pair<std::string, std::string>::first);
  std::string there;
  if (kept != head->metadata.end()) {
    there = kept->second;
  } else {
    MILLRACE_ASSIGN(there, checksum_of(store, key, size, head->info.etag));
  }
  if (there == checksum) return Found{Match::same, ""};
  return Found{Match::different,
               fmt::format("both have {} bytes, its checksum is {}, that of ours {}", size, there, checksum)};
}

Result<Found> match_content(ObjectStore& store, std::string_view key, std::string_view body) {
  return match_content(store, key, body.size(), checksum(body));
}

}  // namespace millrace::s3_sink
