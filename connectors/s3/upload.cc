// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/upload.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace millrace::s3_sink {

std::string checksum(std::string_view body) { return fmt::format("{:016x}", XXH3_64bits(body.data(), body.size())); }

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
