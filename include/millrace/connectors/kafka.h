// SPDX-License-Identifier: Apache-2.0
// Kafka as a source: one lane for each partition that the group assigns, or that is named; positions are kept by the
// brokers and stored by Millrace alone.
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
#include "millrace/source/source.h"

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

}  // namespace millrace
