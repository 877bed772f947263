// SPDX-License-Identifier: Apache-2.0
// For tests of the source: pipelines from a fake server to a capturing sink.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millrace/connectors/iggy.h"
#include "tests/engine/engine_fixture.h"
#include "tests/iggy_rig/fake_server.h"

namespace millrace::iggy_source {

inline IggySourceOptions options_for(const iggy_rig::FakeServer& server) {
  IggySourceOptions options;
  options.address = server.address();
  options.username = "iggy";
  options.password = Secret("iggy");
  options.stream = "s";
  options.topics = {"t"};
  options.consumer_group = "mill";
  options.heartbeat = std::chrono::milliseconds(50);
  options.request_timeout = std::chrono::seconds(10);
  return options;
}

inline IggySourceOptions bounded(IggySourceOptions options) {
  options.bounded = true;
  return options;
}

/// Log lines, to be read by a test.
class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view, std::string_view message, std::initializer_list<LogField>) override {
    const MutexLock lock(mutex_);
    all_.append(message).append("\n");
  }
  [[nodiscard]] std::string all() const {
    const MutexLock lock(mutex_);
    return all_;
  }

 private:
  mutable Mutex mutex_;
  std::string all_ MILLRACE_GUARDED_BY(mutex_);
};

/// One run on a thread of its own.
class Running {
 public:
  explicit Running(const IggySourceOptions& options, EncodeSpec encode = {},
                   std::shared_ptr<testing::Capture> capture = std::make_shared<testing::Capture>(),
                   PipelineOptions pipeline = testing::quick())
      : capture_(std::move(capture)), pipeline_(std::move(pipeline)) {
    testing::CaptureSinkOptions sink = testing::small_chunks();
    sink.policy.max_age = std::chrono::milliseconds(20);
    pipeline_.log(Logger(log_, "test"))
        .metrics(metrics_)
        .sink(testing::CaptureSink::make(capture_, sink))
        .chain_factory(make_config_chain({}, encode));
    run_ = std::make_unique<testing::BackgroundRun>(pipeline_, IggySource::make(options));
  }
  RunReport& join() {
    if (report_ == nullptr) report_ = &run_->join();
    return *report_;
  }
  RunReport& stop() {
    pipeline_.stop_handle().request();
    return join();
  }
  [[nodiscard]] std::vector<std::string> lines() const { return testing::sorted(capture_->lines()); }
  [[nodiscard]] std::set<std::string> distinct() const {
    const auto lines = capture_->lines();
    return {lines.begin(), lines.end()};
  }
  [[nodiscard]] bool wait_for(std::size_t distinct_records) const {
    return testing::eventually([&] { return distinct().size() >= distinct_records; });
  }
  [[nodiscard]] bool wait_for_log(const std::string& text) const {
    return testing::eventually([&] { return log_->all().find(text) != std::string::npos; });
  }
  [[nodiscard]] testing::Capture& capture() const { return *capture_; }
  [[nodiscard]] std::string log() const { return log_->all(); }
  /// As they are exported.
  [[nodiscard]] std::string metrics() const { return metrics_->to_prometheus_text(); }
  [[nodiscard]] PipelineSnapshot snapshot() const { return pipeline_.snapshot(); }

 private:
  const std::shared_ptr<testing::Capture> capture_;
  const std::shared_ptr<Lines> log_ = std::make_shared<Lines>();
  const std::shared_ptr<MetricRegistry> metrics_ = std::make_shared<MetricRegistry>();
  Pipeline pipeline_;
  std::unique_ptr<testing::BackgroundRun> run_;
  RunReport* report_ = nullptr;  ///< once it has ended
};

/// `{"n":first}` and so on, sorted as text.
inline std::vector<std::string> numbered(int first, int count) {
  std::vector<std::string> all;
  for (int i = first; i < first + count; ++i) all.push_back("{\"n\":" + std::to_string(i) + "}");
  return testing::sorted(std::move(all));
}

/// What the server keeps for the group, partition by partition; -1: nothing.
inline std::vector<int> stored(iggy_rig::FakeServer& server, const std::string& who = "group:mill") {
  std::vector<int> all;
  for (const auto& one : server.control({{"partitions", {{"stream", "s"}, {"topic", "t"}}}})) {
    all.push_back(one["stored"].contains(who) ? one["stored"][who].get<int>() : -1);
  }
  return all;
}

}  // namespace millrace::iggy_source
