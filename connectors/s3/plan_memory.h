// SPDX-License-Identifier: Apache-2.0
// What an S3 source holds in memory at most, part by part (INV-7), for the objects that were listed, or for any.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/options.h"
#include "connectors/s3/read_chunks.h"
#include "millrace/pipeline/plan.h"

namespace millrace::s3_source {

/// Bytes of one payload at most: max_record_bytes, or the largest object where none is compressed.
[[nodiscard]] std::uint64_t longest_record(const Listing& listing, const Settings& settings);

/// `reads`: how many of them a run makes. `reads_in_flight`: what the store likes.
[[nodiscard]] std::vector<MemoryPart> source_memory(const Listing& listing, const Settings& settings,
                                                    const ReadChunks& chunks, std::uint64_t reads,
                                                    std::size_t reads_in_flight);
/// The same whatever there will be to list: what the settings bound.
[[nodiscard]] std::vector<MemoryPart> source_memory(const Settings& settings, const ReadChunks& chunks);

}  // namespace millrace::s3_source
