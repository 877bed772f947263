// SPDX-License-Identifier: Apache-2.0
// Goal: C14, a file of json_array is one valid array and never an empty one, also when its age or a stop ends it.
// Method: a topic that never ends is fed record by record, always when the last file has come; a parser of others
// reads.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "connectors/s3/sink.h"
#include "millrace/base/sync.h"
#include "millrace/testing/memory_store.h"
#include "sink_run.h"

namespace millrace::testing {
namespace {

bool eventually(const std::function<bool()>& condition) {
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  const auto deadline = Clock::real().now() + std::chrono::seconds(60);
  while (!condition()) {
    if (Clock::real().now() > deadline) return false;
    never.wait_until_real(mutex, std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  }
  return true;
}

TEST(S3SinkArrays, C14_ArraysEndedByAgeAndByAStopAreWhole) {
  S3SinkOptions options;
  options.url = "s3://b/out";
  options.path_template = "{topic}";
  options.wrap = false;
  options.output_format = OutputFormat::json_array;
  options.max_file_age = std::chrono::milliseconds(20);
  options.probe = false;
  const auto memory = std::make_shared<MemoryStore>();
  auto checked = s3_sink::check(options);
  ASSERT_TRUE(checked) << checked.error().message();
  auto sink = s3_sink::make_sink(*std::move(checked),
                                 [&](const StoreUrl&, const StoreOptions&, const StoreContext&) { return memory; });
  ASSERT_TRUE(sink);
  const EncodeSpec spec = sink->encode_spec();
  const auto topic = std::make_shared<MemoryTopic>(1);
  Pipeline pipeline(quick_run());
  pipeline.sink(std::move(sink)).chain_factory(make_config_chain({}, spec));
  RunReport report;
  std::size_t fed = 0;
  {
    Thread run("run", [&] { report = pipeline.run(MemorySource::make(topic)); });
    const auto feed = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) topic->append(PartitionId(0), record(0, fed++));
    };
    for (std::size_t files = 0; files < 5; ++files) {
      feed(files + 1);
      EXPECT_TRUE(eventually([&] { return memory->contents().size() > files; }));
    }
    feed(50);
    pipeline.stop_handle().request();
    run.join();
  }
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  std::size_t next = 0;
  for (const auto& [key, body] : memory->contents()) {
    const auto array = nlohmann::json::parse(body, nullptr, false);
    ASSERT_TRUE(array.is_array()) << key << ": " << body.substr(0, 100);
    EXPECT_FALSE(array.empty()) << key;
    EXPECT_EQ(std::stoul(key.substr(key.size() - 46, 20)), next) << key;
    for (const auto& one : array) EXPECT_EQ(one["n"], next++) << key;
    EXPECT_EQ(std::stoul(key.substr(key.size() - 25, 20)), next - 1) << key;
  }
  EXPECT_GE(next, 15U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(static_cast<std::int64_t>(next)));
}

}  // namespace
}  // namespace millrace::testing
