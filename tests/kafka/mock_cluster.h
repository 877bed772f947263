// SPDX-License-Identifier: Apache-2.0
// MockCluster: brokers that librdkafka itself plays, in this process: there at once, and faulty on demand. They show
// aborted records and forget old ones, so what is delivered is tested on a real broker.
#pragma once

#include <gtest/gtest.h>
// The order of these two matters.
#include <librdkafka/rdkafka.h>
//
#include <librdkafka/rdkafka_mock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/checkpoint/checkpointer.h"
#include "millrace/connectors/kafka.h"

namespace millrace::kafka {

class MockCluster {
 public:
  explicit MockCluster(int partitions = 1, int brokers = 1) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", std::to_string(brokers).c_str(), nullptr, 0);
    rd_kafka_conf_set(conf, "linger.ms", "0", nullptr, 0);
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    cluster_ = rd_kafka_handle_mock_cluster(handle_);
    rd_kafka_mock_topic_create(cluster_, "orders", partitions, 1);
  }
  ~MockCluster() { rd_kafka_destroy(handle_); }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  [[nodiscard]] std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  [[nodiscard]] rd_kafka_mock_cluster_t* get() const { return cluster_; }

  /// Without a value it is a tombstone.
  void put(int partition, std::optional<std::string> value, std::optional<std::string> key = std::nullopt,
           const std::vector<std::pair<std::string, std::string>>& headers = {}, std::int64_t millis = 1000) {
    rd_kafka_headers_t* all = rd_kafka_headers_new(headers.size());
    for (const auto& [name, text] : headers)
      rd_kafka_header_add(all, name.c_str(), -1, text.data(), static_cast<ssize_t>(text.size()));
    std::array<rd_kafka_vu_t, 7> with{};
    with[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    with[0].u.cstr = "orders";
    with[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    with[1].u.i32 = partition;
    with[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    with[2].u.i = RD_KAFKA_MSG_F_COPY;
    with[3].vtype = RD_KAFKA_VTYPE_VALUE;
    with[3].u.mem = {value ? value->data() : nullptr, value ? value->size() : 0};
    with[4].vtype = RD_KAFKA_VTYPE_KEY;
    with[4].u.mem = {key ? key->data() : nullptr, key ? key->size() : 0};
    with[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    with[5].u.i64 = millis;
    with[6].vtype = RD_KAFKA_VTYPE_HEADERS;
    with[6].u.headers = all;
    ASSERT_EQ(rd_kafka_produceva(handle_, with.data(), with.size()), nullptr);
  }
  void put(int count) {
    for (int i = 0; i < count; ++i) put(0, std::to_string(i));
    flush();
  }
  /// Where a group is in a partition of `orders`, as another client sees it; nothing when it is nowhere.
  [[nodiscard]] std::optional<std::int64_t> position(const std::string& group, int partition = 0) const {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers().c_str(), nullptr, 0);
    rd_kafka_conf_set(conf, "group.id", group.c_str(), nullptr, 0);
    rd_kafka_t* const consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, "orders", partition);
    EXPECT_EQ(rd_kafka_committed(consumer, list, 60'000), RD_KAFKA_RESP_ERR_NO_ERROR);
    const std::int64_t offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(consumer);
    return offset < 0 ? std::nullopt : std::optional(offset);
  }
  /// The next requests of this kind (a key of Kafka's protocol) are answered so.
  void answer(std::int16_t request, const std::vector<rd_kafka_resp_err_t>& errors) {
    rd_kafka_mock_push_request_errors_array(cluster_, request, errors.size(), errors.data());
  }
  void flush() { ASSERT_EQ(rd_kafka_flush(handle_, 60'000), RD_KAFKA_RESP_ERR_NO_ERROR); }

 private:
  rd_kafka_t* handle_ = nullptr;
  rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

inline constexpr std::int16_t kListOffsets = 2;
inline constexpr std::int16_t kOffsetCommit = 8;
inline constexpr std::int16_t kOffsetFetch = 9;
inline constexpr std::int16_t kJoinGroup = 11;

/// Keeps what is logged.
class Lines final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*component*/, std::string_view message,
             std::initializer_list<LogField> fields) override {
    std::string line(message);
    for (const LogField& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    const MutexLock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& line) { return line.contains(part); }));
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ MILLRACE_GUARDED_BY(mutex_);
};

/// A source over it, driven by hand with a bare checkpointer in place of a pipeline.
struct Rig {
  explicit Rig(const MockCluster& cluster) {
    options.brokers = {cluster.brokers()};
    options.topics = {"orders"};
    options.group = "g";
    options.partitions = {"0"};
  }
  ~Rig() {
    lanes.clear();
    if (source) source->close();
  }

  void open() {
    auto made = KafkaSource::make(options);
    ASSERT_TRUE(made) << made.error().message();
    source = *std::move(made);
    SourceContext context;
    context.pipeline = "p";
    context.acks = checkpointer.issuer();
    context.log = Logger(log, "source");
    context.begin_revocation = begin_revocation;
    ASSERT_TRUE(source->open(context));
  }

  static constexpr std::chrono::seconds kDeadline{60};

  /// Polls events until the lanes are there, or an error.
  Result<void> assign() {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (std::chrono::steady_clock::now() < until) {
      auto event = source->poll_events(std::chrono::milliseconds(20));
      if (!event) return fail(std::move(event).error());
      if (const auto* gone = std::get_if<LanesRevoked>(&*event)) {
        lanes.clear();
        source->revoked(gone->lanes);
      }
      auto* assigned = std::get_if<LanesAssigned>(&*event);
      if (assigned == nullptr) continue;
      lanes = std::move(assigned->lanes);
      std::vector<PartitionId> partitions;
      for (const auto& lane : lanes) partitions.push_back(lane->partition());
      checkpointer.begin_epoch(partitions);
      return {};
    }
    return fail(Error::fatal(ErrorCode::timeout, "no lanes came"));
  }

  /// The next batch of the first lane.
  Result<PayloadBatch> next(std::size_t most = 100) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (std::chrono::steady_clock::now() < until) {
      auto polled = lanes[0]->poll(most, std::chrono::milliseconds(50));
      if (!polled) return fail(std::move(polled).error());
      if (auto* batch = std::get_if<PayloadBatch>(&*polled)) return std::move(*batch);
      if (std::holds_alternative<Exhausted>(*polled)) return fail(Error::fatal(ErrorCode::closed, "exhausted"));
      auto event = source->poll_events(Duration::zero());
      if (!event) return fail(std::move(event).error());
    }
    return fail(Error::fatal(ErrorCode::timeout, "no batch came"));
  }

  /// As the engine does when partition 0 has moved.
  [[nodiscard]] Result<void> commit(std::int64_t at) const {
    const PartitionWatermark moved{PartitionId(0), Watermark(at)};
    return source->commit(std::span(&moved, 1));
  }

  /// Calls it, again and again, until it is true; false when it never was.
  [[nodiscard]] static bool until(const std::function<bool()>& condition) {
    Mutex mutex;
    CondVar never;
    const SteadyTime end = Clock::real().now() + kDeadline;
    while (!condition()) {
      const SteadyTime now = Clock::real().now();
      if (now >= end) return false;
      const MutexLock lock(mutex);
      Clock::real().wait_until(never, mutex, now + std::chrono::milliseconds(1));
    }
    return true;
  }

  Checkpointer checkpointer;
  KafkaSourceOptions options;
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  std::function<std::shared_ptr<DrainBarrier>(std::span<const LaneId>)> begin_revocation;
  std::unique_ptr<Source> source;
  std::vector<std::unique_ptr<SourceLane>> lanes;
};

}  // namespace millrace::kafka
