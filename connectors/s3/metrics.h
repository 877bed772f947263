// SPDX-License-Identifier: Apache-2.0
// The S3 source's own metric families (etl_s3_source_*), resolved when the source opens. Handles; any thread.
#pragma once

#include "millrace/base/result.h"
#include "millrace/metrics/meter.h"

namespace millrace::s3_source {

struct SourceMetrics {
  Counter objects_listed;
  Counter objects_completed;    ///< the lane is behind them: read to their end, empty, left out or set aside
  Counter objects_skipped;      ///< of them, archived ones that were left out, as on_archived: skip asks
  Counter objects_quarantined;  ///< of them, those that were set aside, as on_object_error: quarantine asks
  Gauge objects_remaining;
  Counter bytes_read;     ///< stored bytes received, those of failed tries that were kept included
  Counter bytes_decoded;  ///< after decompression
  Counter get_retries;

  [[nodiscard]] static Result<SourceMetrics> make(const Meter& meter);
};

}  // namespace millrace::s3_source
