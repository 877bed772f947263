// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/metrics.h"

namespace millrace::s3_source {

Result<SourceMetrics> SourceMetrics::make(const Meter& meter) {
  SourceMetrics m;
  MILLRACE_ASSIGN(m.objects_listed, meter.counter("s3_source_objects_listed_total", "Objects that the listing named."));
  MILLRACE_ASSIGN(m.objects_completed,
                  meter.counter("s3_source_objects_completed_total",
                                "Objects that lanes are behind: read to their end, empty, left out or set aside."));
  MILLRACE_ASSIGN(m.objects_skipped,
                  meter.counter("s3_source_objects_skipped_total",
                                "Objects left out since they are archived and not restored (on_archived: skip)."));
  MILLRACE_ASSIGN(m.objects_quarantined,
                  meter.counter("s3_source_objects_quarantined_total",
                                "Objects set aside since they could not be read (on_object_error: quarantine)."));
  MILLRACE_ASSIGN(m.objects_remaining,
                  meter.gauge("s3_source_objects_remaining", "Objects that no lane is behind yet."));
  MILLRACE_ASSIGN(m.bytes_read, meter.counter("s3_source_bytes_read_total", "Stored bytes received from the store."));
  MILLRACE_ASSIGN(m.bytes_decoded, meter.counter("s3_source_bytes_decoded_total", "Bytes after decompression."));
  MILLRACE_ASSIGN(m.get_retries, meter.counter("s3_source_get_retries_total", "Reads that were tried again."));
  return m;
}

}  // namespace millrace::s3_source
