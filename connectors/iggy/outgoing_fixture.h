// SPDX-License-Identifier: Apache-2.0
// For tests of the sink: chunks of framed records, as a lane makes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/encode/framed.h"
#include "millrace/sink/sealed_batch.h"

namespace millrace::iggy_sink {

/// Gives `first`, `first` + 1 and so on.
class CountingRandom final : public Random {
 public:
  explicit CountingRandom(std::uint64_t first) : next_(first) {}
  [[nodiscard]] std::uint64_t next() override { return next_++; }

 private:
  std::uint64_t next_;
};

struct TestRecord {
  std::string value;
  std::optional<std::string> key = std::nullopt;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::int64_t offset = -1;  ///< -1: one more than the record before
  UnixMicros timestamp = 1'000'000;
};

inline std::shared_ptr<const Origin> origin_of(std::string lineage) {
  auto origin = std::make_shared<Origin>();
  origin->lineage = std::move(lineage);
  return origin;
}

/// The first without an offset has 0.
inline SealedBatch batch_of(const std::vector<TestRecord>& records, std::uint64_t sequence = 0,
                            std::shared_ptr<const Origin> origin = origin_of("l")) {
  SealedBatch batch;
  batch.token = {LaneId(1), sequence};
  batch.chunk.partition = PartitionId(4);
  batch.chunk.origin = std::move(origin);
  batch.chunk.opened_unix = 77'000'000;
  batch.chunk.records = records.size();
  std::int64_t offset = -1;
  for (const TestRecord& record : records) {
    std::vector<Header> headers;
    for (const auto& [name, value] : record.headers) headers.push_back({name, value});
    RecordMeta meta;
    meta.offset = Offset(offset = record.offset >= 0 ? record.offset : offset + 1);
    meta.timestamp = record.timestamp;
    meta.has_key = record.key.has_value();
    if (record.key) meta.key = *record.key;
    meta.headers = headers.data();
    meta.header_count = headers.size();
    static_cast<void>(encode::append_framed(batch.chunk.bytes, record.value, meta, 0));
  }
  return batch;
}

}  // namespace millrace::iggy_sink
