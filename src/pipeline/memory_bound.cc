// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "millrace/base/figures.h"

namespace millrace {
namespace {

// Code, libraries, allocator and threads of a process that reads one small file: 20 MiB were measured, and the
// allocator keeps some of what it is given back.
constexpr std::uint64_t kProcess = std::uint64_t{24} << 20U;
// A batch of acknowledgements on its way: its node, its place in the ring and in the queue.
constexpr std::uint64_t kPendingBatch = 192;
// What a client library buffers of one write.
constexpr std::uint64_t kWriterBuffer = std::uint64_t{1} << 20U;
// A sealed batch that holds nothing (SinkQueue counts as much).
constexpr std::uint64_t kEmptyBatch = 512;
// What stands around one record in a wrapper.
constexpr std::uint64_t kWrapper = std::uint64_t{1} << 10U;

/// What one record becomes: base64 takes a third more, and strings are escaped.
std::uint64_t encoded(const EncodeSpec& spec, std::uint64_t record) {
  if (spec.format == EncodeFormat::discard) return 0;
  if (spec.format == EncodeFormat::raw) return bounded_sum(record, spec.delimiter.size());
  return bounded_sum(bounded_product(2, record), kWrapper);
}

std::string size(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace

std::vector<MemoryPart> memory_bound(const PipelineOptions& options, const Sink& sink, std::uint64_t lanes,
                                     std::uint64_t longest_record) {
  const SealPolicy policy = sink.seal_policy();
  const EncodeSpec spec = sink.encode_spec();
  const std::uint64_t writers = std::max<std::size_t>(sink.traits().concurrency, 1);
  const std::uint64_t record = encoded(spec, longest_record);
  // A chunk is sealed behind the record with which it meets a limit.
  const std::uint64_t limit = policy.max_bytes != 0 ? policy.max_bytes : bounded_product(policy.max_records, record);
  const std::uint64_t chunk = spec.format == EncodeFormat::discard ? 0 : bounded_sum(limit, record);

  std::vector<MemoryPart> parts;
  parts.push_back({"program", kProcess, "code, libraries, threads"});
  parts.push_back({"positions", bounded_product(lanes, bounded_product(options.max_pending_batches, kPendingBatch)),
                   fmt::format("{} x {} batches that wait for their writes (checkpoint.max_pending_batches)",
                               of_these(lanes, "lane"), options.max_pending_batches)});
  if (chunk != 0) {
    const std::string of_a_chunk = fmt::format("{} and one record more, {} as written", size(limit), size(record));
    parts.push_back({"open output", bounded_product(lanes, chunk),
                     fmt::format("{} x a file or chunk of {}", of_these(lanes, "lane"), of_a_chunk)});
    // A written buffer is kept when it has no more than twice the usual size (SinkQueue).
    const std::uint64_t kept = std::min(chunk, bounded_product(2, limit));
    parts.push_back({"spare output", bounded_product(2 * writers, kept),
                     fmt::format("{} buffers for the next chunks", 2 * writers)});
  }
  if (chunk == 0) {
    const std::uint64_t waiting = bounded_product(lanes, bounded_product(options.max_pending_batches, kEmptyBatch));
    parts.push_back(
        {"sealed output", std::min<std::uint64_t>(options.max_inflight_bytes, waiting),
         fmt::format("{} x {} batches without bytes", of_these(lanes, "lane"), options.max_pending_batches)});
  } else {
    parts.push_back(
        {"sealed output", bounded_sum(options.max_inflight_bytes, chunk),
         fmt::format("pipeline.max_inflight_bytes ({}), and one batch more", size(options.max_inflight_bytes))});
  }
  parts.push_back({"writers", bounded_product(writers, kWriterBuffer),
                   fmt::format("{}, {} each", of_these(writers, "writer"), size(kWriterBuffer))});
  return parts;
}

}  // namespace millrace
