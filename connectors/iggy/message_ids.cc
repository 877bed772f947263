// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/message_ids.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <utility>

namespace millrace::iggy_sink {
namespace {

iggy::MessageId hashed(const void* bytes, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.low64, hash.high64};
}

}  // namespace

MessageIds::MessageIds(std::string pipeline, Random& random) : pipeline_(std::move(pipeline)), run_(random.next()) {}

void MessageIds::begin(PartitionId partition, const Origin* origin) {
  const bool named = origin != nullptr && !origin->lineage.empty();
  // Lengths in front, so that no name runs into the next.
  const std::string shared = fmt::format("{}:{}{}{}:{} {}", pipeline_.size(), pipeline_, named ? "of" : "run",
                                         named ? origin->lineage.size() : 0,
                                         named ? origin->lineage : std::to_string(run_), partition.value());
  chunk_ = hashed(shared.data(), shared.size());
  offset_.reset();
}

iggy::MessageId MessageIds::next(Offset offset, std::string_view value) {
  index_ = offset_ == offset ? index_ + 1 : 0;
  offset_ = offset;
  const iggy::MessageId said = hashed(value.data(), value.size());
  const std::array<std::uint64_t, 6> all{chunk_.low, chunk_.high, static_cast<std::uint64_t>(offset.value()),
                                         index_,     said.low,    said.high};
  iggy::MessageId id = hashed(all.data(), sizeof all);
  id.low |= id == iggy::MessageId() ? 1U : 0U;  // a message of no id is given one
  return id;
}

}  // namespace millrace::iggy_sink
