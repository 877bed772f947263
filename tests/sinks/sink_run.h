// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: a topic of numbered records, and one run of it into a sink.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/memory_source.h"

namespace millrace::testing {

/// Payload `{"p":<partition>,"n":<offset>}`.
inline std::string record(std::uint32_t partition, std::size_t offset) {
  return "{\"p\":" + std::to_string(partition) + ",\"n\":" + std::to_string(offset) + "}";
}

inline std::shared_ptr<MemoryTopic> topic_of(std::uint32_t partitions, std::size_t records) {
  auto topic = std::make_shared<MemoryTopic>(partitions);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    for (std::size_t i = 0; i < records; ++i) topic->append(PartitionId(p), record(p, i));
  }
  topic->end();
  return topic;
}

inline PipelineOptions quick_run() {
  PipelineOptions options;
  options.name = "pipe";
  options.threads = 1;
  options.checkpoint_interval = std::chrono::milliseconds(100);
  options.drain_timeout = std::chrono::seconds(20);
  return options;
}

inline RunReport run_into(Result<std::unique_ptr<Sink>> sink, std::shared_ptr<MemoryTopic> topic) {
  const EncodeSpec spec = sink ? (*sink)->encode_spec() : EncodeSpec();
  Pipeline pipeline(quick_run());
  pipeline.sink(std::move(sink)).chain_factory(make_config_chain({}, spec));
  return pipeline.run(MemorySource::make(std::move(topic)));
}

inline std::string why(const RunReport& report) {
  return std::string(to_string(report.state)) + (report.error ? ": " + report.error->describe() : "");
}

}  // namespace millrace::testing
