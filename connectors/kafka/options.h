// SPDX-License-Identifier: Apache-2.0
// What the Kafka connectors are told: rules over their options, and the library's configuration made of them. Pure; any
// thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "connectors/kafka/handles.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/config/config.h"
#include "millrace/connectors/kafka.h"

namespace millrace {

template <>
struct EnumNames<KafkaCompression> {
  static constexpr std::array<std::pair<std::string_view, KafkaCompression>, 5> names{
      {{"none", KafkaCompression::none},
       {"gzip", KafkaCompression::gzip},
       {"snappy", KafkaCompression::snappy},
       {"lz4", KafkaCompression::lz4},
       {"zstd", KafkaCompression::zstd}}};
};
template <>
struct EnumNames<KafkaPartitioner> {
  static constexpr std::array<std::pair<std::string_view, KafkaPartitioner>, 2> names{
      {{"murmur2", KafkaPartitioner::murmur2}, {"crc32", KafkaPartitioner::crc32}}};
};

namespace kafka {

/// What the last store of revoked partitions may take.
inline constexpr Duration kLastStore = std::chrono::seconds(10);

/// Every rule over the whole struct; `at` is where it was read, or an empty one for options made in code.
void check(const KafkaSourceOptions& options, const ConfigSection& at, ConfigProblems& problems);
[[nodiscard]] Result<void> check(const KafkaSourceOptions& options);
void check(const KafkaSinkOptions& options, const ConfigSection& at, ConfigProblems& problems);
[[nodiscard]] Result<void> check(const KafkaSinkOptions& options);

/// `pipeline` names the client for those who look at the brokers.
[[nodiscard]] Result<ConfHandle> source_conf(const KafkaSourceOptions& options, const std::string& pipeline);
[[nodiscard]] Result<ConfHandle> sink_conf(const KafkaSinkOptions& options, const std::string& pipeline);

}  // namespace kafka
}  // namespace millrace
