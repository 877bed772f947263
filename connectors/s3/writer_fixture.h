// SPDX-License-Identifier: Apache-2.0
// What tests of the object writer share: a sealed batch, and writers over a store in memory that can be made to fail.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "connectors/s3/writer.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_sink {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

// 2026-03-16T14:05:09Z
inline constexpr UnixMicros kMarch = 1'773'669'909'000'000;
inline constexpr const char* kKey =
    "out/application_logs/api_requests/2026-03-16/14/00000-00000000000000000000-00000000000000000999.jsonl";

inline const auto kOrigin = [] {
  auto origin = std::make_shared<Origin>();
  origin->stream = "application_logs";
  origin->topic = "api_requests";
  return std::shared_ptr<const Origin>(origin);
}();

inline SealedBatch batch(std::string_view body, std::uint64_t sequence = 0, std::int64_t first = 0,
                         std::int64_t last = 999, std::uint32_t partition = 0, UnixMicros time = kMarch) {
  SealedBatch made;
  made.chunk.bytes.append(body);
  made.chunk.records = static_cast<std::uint64_t>(last - first + 1);
  made.chunk.partition = PartitionId(partition);
  made.chunk.first_offset = Offset(first);
  made.chunk.last_offset = Offset(last);
  made.chunk.first_timestamp = time;
  made.chunk.opened_unix = kMarch;
  made.chunk.origin = kOrigin;
  made.token = {LaneId(0), sequence};
  return made;
}

inline Error unavailable() { return Error::retryable(ErrorCode::unavailable, "503 SlowDown"); }

class S3WriterTest : public ::testing::Test {
 protected:
  std::shared_ptr<Upload> upload(IfExists if_exists, std::shared_ptr<ObjectStore> store = nullptr,
                                 const std::string& prefix = "out") {
    auto made = std::make_shared<Upload>();
    made->store = store ? std::move(store) : faulty_;
    made->base = {"s3", "b", prefix};
    made->keys = *KeyTemplate::parse({prefix, "{stream}/{topic}/{date}/{hour}", "jsonl", NameEncoding::replace});
    made->if_exists = if_exists;
    made->as.content_type = "application/x-ndjson";
    return made;
  }
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
};

}  // namespace millrace::s3_sink
