// SPDX-License-Identifier: Apache-2.0
// For tests of the sink: a fake server with a topic, a sink that writes to it, and what the server then has.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/iggy/outgoing_fixture.h"
#include "millrace/connectors/iggy.h"
#include "tests/iggy_rig/fake_server.h"

namespace millrace::iggy_sink {

inline IggySinkOptions options_for(const iggy_rig::FakeServer& server) {
  IggySinkOptions options;
  options.address = server.address();
  options.username = "iggy";
  options.password = Secret("iggy");
  options.stream = "s";
  options.topic = "t";
  options.request_timeout = std::chrono::seconds(10);
  return options;
}

inline SinkContext context_for() {
  SinkContext context;
  context.pipeline = "line";
  return context;
}

/// A sink, open, and one writer of it.
struct Writing {
  explicit Writing(const IggySinkOptions& options, SinkContext context = context_for()) {
    auto made = IggySink::make(options);
    EXPECT_TRUE(made);
    sink = *std::move(made);
    const auto opened = sink->open(std::move(context));
    EXPECT_TRUE(opened) << opened.error().message();
    writer = *sink->make_writer();
  }
  Result<Receipt> write(SealedBatch& batch) const { return writer->write(batch); }

  std::unique_ptr<Sink> sink;
  std::unique_ptr<Writer> writer;
};

/// Waits until the server has met a request of this command, answered or not.
inline void wait_for_request(iggy_rig::FakeServer& server, const std::string& command) {
  const nlohmann::json met = server.control({{"wait", {{"where", {{"command", command}}}, {"ms", 60000}}}});
  EXPECT_FALSE(met.empty()) << command;
}

/// What the server has in a partition of s/t: objects with payload, id, origin, headers_hex.
inline nlohmann::json messages_of(iggy_rig::FakeServer& server, std::uint32_t partition = 0,
                                  const std::string& topic = "t") {
  return server.control({{"messages", {{"stream", "s"}, {"topic", topic}, {"partition", partition}}}});
}

inline std::vector<std::string> payloads_of(iggy_rig::FakeServer& server, std::uint32_t partition = 0,
                                            const std::string& topic = "t") {
  std::vector<std::string> all;
  for (const auto& message : messages_of(server, partition, topic)) all.push_back(message["payload"]);
  return all;
}

inline std::vector<TestRecord> numbered(int count) {
  std::vector<TestRecord> all;
  for (int i = 0; i < count; ++i) all.push_back({std::to_string(i)});
  return all;
}

}  // namespace millrace::iggy_sink
