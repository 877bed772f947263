// SPDX-License-Identifier: Apache-2.0
// Kafka as a source: one lane for each partition that the group assigns, or that is named; positions are kept by the
// brokers and stored by Millrace alone. And as a sink: records as messages of a topic, acknowledged by every replica in
// sync.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/config/schema.h"
#include "millrace/config/values.h"
#include "millrace/connectors/stream.h"
#include "millrace/pipeline/registry.h"
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class KafkaIsolation { read_committed, read_uncommitted };
enum class KafkaAssignment { cooperative, eager };
/// What becomes of a record without a value.
enum class KafkaTombstone {
  empty,      ///< an empty payload
  json_null,  ///< the payload `null`
  skip,       ///< it is passed over
};

/// Defaults are those of the YAML keys of the same names.
struct KafkaSourceOptions {
  std::vector<std::string> brokers;  ///< required: host:port
  std::vector<std::string> topics;   ///< required
  std::string group;                 ///< required: whom positions are stored for
  /// Numbers of the partitions of each topic that this run reads, outside of the group's assignment; empty: the group
  /// assigns.
  std::vector<std::string> partitions;
  KafkaAssignment assignment = KafkaAssignment::cooperative;
  StreamStart start;
  OnPositionLost on_position_lost = OnPositionLost::fail;
  bool bounded = false;
  KafkaIsolation isolation = KafkaIsolation::read_committed;
  KafkaTombstone on_tombstone = KafkaTombstone::empty;
  ByteSize prefetch_bytes{16U << 20U};  ///< of each partition
  Duration connect_timeout = std::chrono::seconds(30);
  std::map<std::string, std::string> properties;
};

class KafkaSource {
 public:
  [[nodiscard]] static const Schema<KafkaSourceOptions>& schema();
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(const ConfigSection& section,
                                                            const BuildContext& context = {});
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(KafkaSourceOptions options,
                                                            const BuildContext& context = {});
  [[nodiscard]] static SourceKind kind();
};

enum class KafkaCompression { none, gzip, snappy, lz4, zstd };
enum class KafkaPartitioner { murmur2, crc32 };

struct KafkaSinkOptions {
  std::vector<std::string> brokers;  ///< required: host:port
  std::string topic;                 ///< required
  KafkaPartitioner partitioner = KafkaPartitioner::murmur2;
  KafkaCompression compression = KafkaCompression::none;
  ByteSize max_record_bytes{1'000'000};  ///< with key and headers
  Duration linger = std::chrono::milliseconds(50);
  ByteSize batch_bytes{1U << 20U};
  std::uint64_t batch_records = 10'000;
  std::uint64_t write_concurrency = 2;
  Duration write_timeout = std::chrono::seconds(60);
  OnWriteFailure on_write_failure = OnWriteFailure::stall;
  std::int64_t max_attempts = 3;
  Duration connect_timeout = std::chrono::seconds(30);
  std::map<std::string, std::string> properties;
};

class KafkaSink {
 public:
  [[nodiscard]] static const Schema<KafkaSinkOptions>& schema();
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(const ConfigSection& section,
                                                          const BuildContext& context = {});
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(KafkaSinkOptions options, const BuildContext& context = {});
  [[nodiscard]] static SinkKind kind();
  /// Fails (config) when `sink` writes to a topic that `source` reads.
  [[nodiscard]] static Result<void> check_not_feeding(const KafkaSourceOptions& source, const KafkaSinkOptions& sink);
};

}  // namespace millrace
#pragma GCC visibility pop
