// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/upload.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace millrace::s3_sink {

std::string to_checksum(std::uint64_t xxh3) { return fmt::format("{:016x}", xxh3); }
std::string checksum(std::string_view body) { return to_checksum(XXH3_64bits(body.data(), body.size())); }

std::string Upload::uuid_of(const IdempotencyToken& token) const {
  const std::array<std::uint64_t, 4> of{run[0], run[1], token.lane.value(), token.sequence};
  const XXH128_hash_t bits = XXH3_128bits(of.data(), sizeof(of));
  // RFC 9562, version 4: random bits, but for those that say so.
  const std::uint64_t high = (bits.high64 & ~std::uint64_t{0xF000}) | 0x4000U;
  const std::uint64_t low = (bits.low64 & (~std::uint64_t{0} >> 2U)) | (std::uint64_t{1} << 63U);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU, high & 0xFFFFU,
                     low >> 48U, low & 0xFFFF'FFFF'FFFFU);
}

std::string Upload::location(std::string_view key) const {
  return StoreUrl{base.scheme, base.bucket, std::string(key)}.to_string();
}

std::vector<std::pair<std::string, std::string>> Upload::metadata_of(std::string_view body) const {
  auto all = as.metadata;
  all.emplace_back(kChecksumName, checksum(body));
  return all;
}

Result<void> claim_metrics(const Meter& meter, Upload& upload) {
  MILLRACE_ASSIGN(upload.objects, meter.counter("s3_sink_objects_total", "Objects written."));
  MILLRACE_ASSIGN(upload.bytes, meter.counter("s3_sink_bytes_total", "Bytes of the objects written."));
  MILLRACE_ASSIGN(upload.found, meter.counter("s3_sink_objects_found_total",
                                              "Objects that a retry or a replay found in place, with the same bytes."));
  return {};
}

}  // namespace millrace::s3_sink
