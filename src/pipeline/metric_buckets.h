// SPDX-License-Identifier: Apache-2.0
// The bucket bounds of the engine's histograms, so that panels of different stages can be laid over each other.
#pragma once

#include <vector>

#include "millrace/base/time.h"

namespace millrace {

/// 1 ms to 5 min: writes, commits, latencies.
inline std::vector<double> io_seconds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
}
/// 1 us to 1 s: what a lane does with one batch.
inline std::vector<double> cpu_seconds() { return {1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 1}; }
/// Powers of ten of records, powers of four of bytes.
inline std::vector<double> record_counts() { return {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}; }
inline std::vector<double> byte_sizes() {
  return {1024, 4096, 16384, 65536, 262144, 1048576, 4194304.0, 16777216., 67108864., 268435456., 1073741824.};
}

[[nodiscard]] inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace millrace
