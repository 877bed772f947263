// SPDX-License-Identifier: Apache-2.0
// Upload: what all writers of one S3 sink share. Made when the sink opens; immutable but for its flags; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connectors/s3/columnar_output.h"
#include "connectors/s3/commit_context.h"
#include "connectors/s3/key_template.h"
#include "connectors/s3/stored_as.h"
#include "connectors/s3/upload_ledger.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/metrics/meter.h"
#include "millrace/sink/sealed_batch.h"
#include "millrace/store/object_store.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_sink {

/// User metadata that holds the XXH3 (64 bits, hex) of an object's bytes.
inline constexpr std::string_view kChecksumName = "millrace-xxh3";
[[nodiscard]] std::string checksum(std::string_view body);
[[nodiscard]] std::string to_checksum(std::uint64_t xxh3);

struct Upload {
  std::shared_ptr<ObjectStore> store;
  StoreUrl base;
  KeyTemplate keys;
  IfExists if_exists = IfExists::verify;
  TimeSource time_source = TimeSource::message;
  bool exactly_once = false;
  StoredAs as;
  std::string pipeline;
  std::array<std::uint64_t, 2> run{};  ///< random bits, from which the uuids of its files are made
  Logger log;
  Counter objects;  ///< written
  Counter bytes;    ///< written
  Counter found;    ///< that were there already, whole
  /// False once the store has shown that it does not keep the condition of a put: then existence is looked at before.
  Atomic<bool> conditions{true};
  /// False once the store has shown that it takes no uploads in parts.
  Atomic<bool> multipart{true};
  std::shared_ptr<UploadLedger> ledger;  ///< of uploads in parts; null: none are made
  /// A file may grow so large, so what an earlier run has left is looked up at a partition's first object already.
  bool expects_parts = false;
  /// Of a sink that writes exactly once with commit objects; null: it keeps none.
  std::shared_ptr<CommitContext> commits;
  /// Of a sink whose files are in columns; null: they are written as they were sealed.
  std::shared_ptr<ColumnarOutput> columns;

  /// Of the file that is this batch: new for each of this run and of any other, the same over its retries.
  [[nodiscard]] std::string uuid_of(const IdempotencyToken& token) const;
  [[nodiscard]] std::string location(std::string_view key) const;
  /// The user's, with our checksum of the bytes.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> metadata_of(std::string_view body) const;
  [[nodiscard]] bool in_parts(std::size_t size) const noexcept {
    return ledger && size > as.multipart_threshold && multipart.load(memory_order_relaxed);
  }
};

/// Counters of the sink's own families; fails when another sink has claimed them.
[[nodiscard]] Result<void> claim_metrics(const Meter& meter, Upload& upload);

}  // namespace millrace::s3_sink
