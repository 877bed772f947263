// SPDX-License-Identifier: Apache-2.0
// Goal: a batch is acknowledged when all of it is in the topic, and no sooner; what fails on the way is waited for,
// tried again or named, and never waited for without end. Method: a writer without a pipeline over the library's own
// brokers, which fail on demand; what a topic holds is read by a plain consumer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "connectors/kafka/writer.h"
#include "millrace/base/sync.h"
#include "tests/kafka/mock_cluster.h"

namespace millrace::kafka {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kInitProducerId = 22;

struct Stored {
  int partition = 0;
  std::string value;
  std::int64_t millis = 0;
};

/// All records of `orders`, by partition and offset.
std::vector<Stored> stored_in(const MockCluster& cluster, int partitions = 1) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", cluster.brokers().c_str(), nullptr, 0);
  rd_kafka_conf_set(conf, "group.id", "reader", nullptr, 0);
  rd_kafka_conf_set(conf, "enable.partition.eof", "true", nullptr, 0);
  rd_kafka_t* const consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
  std::vector<Stored> all;
  for (int partition = 0; partition < partitions; ++partition) {
    rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, "orders", partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
    EXPECT_EQ(rd_kafka_assign(consumer, list), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(list);
    for (bool ended = false; !ended;) {
      rd_kafka_message_t* const message = rd_kafka_consumer_poll(consumer, 60'000);
      if (message == nullptr) {
        ADD_FAILURE() << "no end came of partition " << partition;
        break;
      }
      ended = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        all.push_back({partition, std::string(static_cast<const char*>(message->payload), message->len),
                       rd_kafka_message_timestamp(message, nullptr)});
      }
      rd_kafka_message_destroy(message);
    }
  }
  rd_kafka_destroy(consumer);
  return all;
}

std::vector<std::string> values_in(const MockCluster& cluster, int partitions = 1) {
  std::vector<std::string> values;
  for (Stored& one : stored_in(cluster, partitions)) values.push_back(std::move(one.value));
  return values;
}

struct Put {
  std::string value;
  std::optional<std::string> key = std::nullopt;
  UnixMicros timestamp = 1'000'000;
};

SealedBatch batch_of(const std::vector<Put>& records, std::uint64_t sequence = 0) {
  SealedBatch batch;
  for (const Put& one : records) {
    RecordMeta meta;
    meta.offset = Offset(static_cast<std::int64_t>(batch.chunk.records++));
    meta.timestamp = one.timestamp;
    meta.has_key = one.key.has_value();
    if (one.key) meta.key = *one.key;
    EXPECT_TRUE(encode::append_framed(batch.chunk.bytes, one.value, meta, 0));
  }
  batch.token = {LaneId(1), sequence};
  return batch;
}

std::vector<Put> numbered(int count) {
  std::vector<Put> all;
  for (int i = 0; i < count; ++i) all.push_back({std::to_string(i), "k" + std::to_string(i)});
  return all;
}

std::vector<std::string> numbers(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

struct WriterRig {
  explicit WriterRig(const MockCluster& cluster) {
    setup.options.brokers = {cluster.brokers()};
    setup.options.topic = "orders";
    setup.options.write_timeout = std::chrono::hours(1);
  }
  TopicWriter& open() {
    auto made = TopicWriter::make(setup);
    EXPECT_TRUE(made) << made.error().message();
    writer = *std::move(made);
    return *writer;
  }
  TopicWriter::Setup setup;
  std::unique_ptr<TopicWriter> writer;
};

TEST(KafkaWriter, INV1_WhatIsNotFramedIsRefusedAndNotAcknowledged) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  SealedBatch raw;
  raw.chunk.bytes.append("hello\n");
  raw.chunk.records = 1;
  SealedBatch long_raw;
  long_raw.chunk.bytes.append(std::string(500, 'x'));
  long_raw.chunk.records = 1;
  SealedBatch fewer = batch_of(numbered(2));
  fewer.chunk.records = 1;
  SealedBatch more = batch_of(numbered(2));
  more.chunk.records = 3;
  SealedBatch torn = batch_of(numbered(2));
  torn.chunk.bytes.truncate(torn.chunk.bytes.size() - 1);
  for (SealedBatch* batch : {&raw, &long_raw, &fewer, &more, &torn}) {
    const auto written = writer.write(*batch);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::user_code);
    EXPECT_THAT(written.error().message(), HasSubstr("encode::framed()"));
  }
  EXPECT_THAT(values_in(cluster), testing::IsEmpty());
}

// What another sink gave up is one letter, and stands for all of its records.
TEST(KafkaWriter, ALetterMayBeOfManyRecords) {
  MockCluster cluster;
  WriterRig rig(cluster);
  SealedBatch letter = batch_of({{"ten records"}});
  letter.chunk.records = 10;
  letter.named_by_content = true;
  const auto written = rig.open().write(letter);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_THAT(values_in(cluster), testing::ElementsAre("ten records"));
}

TEST(KafkaWriter, TimesBeforeTheFirstMillisecondAreNotThatOfSending) {
  MockCluster cluster;
  WriterRig rig(cluster);
  SealedBatch batch = batch_of({{"a", std::nullopt, 0}, {"b", std::nullopt, 999}, {"c", std::nullopt, 2'000}});
  ASSERT_TRUE(rig.open().write(batch));
  std::vector<std::int64_t> times;
  for (const Stored& one : stored_in(cluster)) times.push_back(one.millis);
  EXPECT_THAT(times, testing::ElementsAre(1, 1, 2));
}

// Of Java's own tests of its murmur2: -973932308, -790332482, -985981536. Without the sign, modulo 5.
TEST(KafkaWriter, AKeyGoesWhereJavasClientsSendIt) {
  MockCluster cluster(5);
  WriterRig rig(cluster);
  SealedBatch batch = batch_of({{"a", "21"}, {"b", "foobar"}, {"c", "a-little-bit-long-string"}});
  ASSERT_TRUE(rig.open().write(batch));
  std::map<std::string, int> partitions;
  for (const Stored& one : stored_in(cluster, 5)) partitions[one.value] = one.partition;
  EXPECT_EQ(partitions, (std::map<std::string, int>{{"a", 0}, {"b", 1}, {"c", 2}}));
}

TEST(KafkaWriter, AProducerThatHasLostItsPlaceIsFollowedByAnother) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  for (const auto code : {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH}) {
    ASSERT_EQ(rd_kafka_test_fatal_error(writer.client().get(), code, "test"), RD_KAFKA_RESP_ERR_NO_ERROR);
    SealedBatch batch = batch_of(numbered(3), static_cast<std::uint64_t>(code));
    ASSERT_TRUE(writer.write(batch));
  }
  EXPECT_EQ(values_in(cluster).size(), 6U);
}

TEST(KafkaWriter, ABatchThatLostItsPlaceIsTriedAgain) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  SealedBatch first = batch_of(numbered(1), 1);
  ASSERT_TRUE(writer.write(first));
  rd_kafka_mock_push_request_errors(cluster.get(), kProduce, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
  SealedBatch batch = batch_of(numbered(100), 2);
  auto written = writer.write(batch);
  if (!written) {
    ASSERT_TRUE(written.error().is_retryable()) << written.error().describe();
    written = writer.write(batch);
  }
  ASSERT_TRUE(written) << written.error().describe();
  const auto values = values_in(cluster);
  EXPECT_THAT(std::vector(values.begin() + 1, values.end()), testing::IsSupersetOf(numbers(100)));
}

TEST(KafkaWriter, WithoutTheRightToWriteOnceItSaysWhichRight) {
  MockCluster cluster;
  rd_kafka_mock_push_request_errors(cluster.get(), kInitProducerId, 3, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                                    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                                    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
  WriterRig rig(cluster);
  SealedBatch batch = batch_of(numbered(3));
  const auto written = rig.open().write(batch);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::permission_denied) << written.error().describe();
  EXPECT_THAT(written.error().message(), HasSubstr("allow this user IdempotentWrite on the cluster"));
}

/// A write on a thread of its own, once the library has all records of it.
struct BackgroundWrite {
  BackgroundWrite(TopicWriter& writer, SealedBatch& batch) : thread("writer", [&] { written = writer.write(batch); }) {
    EXPECT_TRUE(Rig::until([&] {
      return rd_kafka_outq_len(writer.client().get()) >= static_cast<int>(batch.chunk.records);
    })) << "the library has not got all of them";
  }
  const Result<Receipt>& join() {
    thread.join();
    return written;
  }
  Result<Receipt> written = fail(Error::fatal(ErrorCode::closed, "not written"));
  Thread thread;
};

// Nothing is acknowledged for an hour; what hangs does so until the test is ended.
TEST(KafkaWriter, AFatalErrorEndsTheWaitThoughTheConnectionIsGone) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  SealedBatch first = batch_of(numbered(1), 1);
  ASSERT_TRUE(writer.write(first));
  rd_kafka_mock_broker_set_rtt(cluster.get(), 1, 2000);
  SealedBatch batch = batch_of(numbered(100), 2);
  BackgroundWrite background(writer, batch);
  rd_kafka_test_fatal_error(writer.client().get(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "test");
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  const auto& written = background.join();
  ASSERT_FALSE(written);
  EXPECT_TRUE(written.error().is_retryable()) << written.error().describe();
  rd_kafka_mock_broker_set_rtt(cluster.get(), 1, 0);
  rd_kafka_mock_broker_set_up(cluster.get(), 1);
  ASSERT_TRUE(writer.write(batch));
  EXPECT_THAT(values_in(cluster), testing::IsSupersetOf(numbers(100)));
}

TEST(KafkaWriter, ACancelledWriteEndsThoughNobodyAnswers) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  SealedBatch batch = batch_of(numbered(100));
  BackgroundWrite background(writer, batch);
  writer.cancel();
  const auto& written = background.join();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::cancelled);
  EXPECT_TRUE(writer.close(SteadyTime{}));
}

TEST(KafkaWriter, INV1_ABatchThatIsWaitedForAgainIsWrittenOnce) {
  MockCluster cluster;
  WriterRig rig(cluster);
  rig.setup.options.write_timeout = std::chrono::milliseconds(50);
  TopicWriter& writer = rig.open();
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  SealedBatch batch = batch_of(numbered(500));
  for (int tries = 0; tries < 3; ++tries) {
    const auto written = writer.write(batch);
    ASSERT_FALSE(written);
    EXPECT_TRUE(written.error().is_retryable());
    EXPECT_THAT(written.error().message(), AllOf(HasSubstr("offset 0"), HasSubstr("min.insync.replicas")));
  }
  rd_kafka_mock_broker_set_up(cluster.get(), 1);
  Result<Receipt> written = writer.write(batch);
  for (int tries = 0; tries < 1000 && !written; ++tries) written = writer.write(batch);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_EQ(values_in(cluster), numbers(500));
}

TEST(KafkaWriter, WhatIsLeftOfABatchThatWasGivenUpDoesNotHoldUpTheNext) {
  MockCluster cluster;
  WriterRig rig(cluster);
  rig.setup.options.write_timeout = std::chrono::milliseconds(50);
  TopicWriter& writer = rig.open();
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  SealedBatch lost = batch_of(numbered(10), 1);
  ASSERT_FALSE(writer.write(lost));
  rd_kafka_mock_broker_set_up(cluster.get(), 1);
  SealedBatch batch = batch_of({{"next"}}, 2);
  Result<Receipt> written = writer.write(batch);
  for (int tries = 0; tries < 1000 && !written; ++tries) written = writer.write(batch);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_THAT(values_in(cluster), testing::ElementsAre("next"));
}

TEST(KafkaWriter, ASetThatIsTooLargeIsSentOneByOne) {
  MockCluster cluster;
  WriterRig rig(cluster);
  TopicWriter& writer = rig.open();
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  rd_kafka_mock_push_request_errors(cluster.get(), kProduce, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  SealedBatch batch = batch_of(numbered(20));
  BackgroundWrite background(writer, batch);  // all of it waits, so it is sent together
  rd_kafka_mock_broker_set_up(cluster.get(), 1);
  const auto& written = background.join();
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_EQ(values_in(cluster), numbers(20));
}

// Letters have no limit on their lane: what is too large by itself is no set that could be sent one by one.
TEST(KafkaWriter, WhatTheLibraryRefusesItselfSendsNoOthersAgain) {
  MockCluster cluster;
  WriterRig rig(cluster);
  rig.setup.options.max_record_bytes.bytes = 2000;
  TopicWriter& writer = rig.open();
  std::vector<Put> records = numbered(3);
  records.push_back({std::string(3000, 'x'), "k"});
  records.push_back({std::string(3000, 'y'), "k"});
  records.push_back({"last", "k"});
  SealedBatch batch = batch_of(records);
  const auto refused = writer.write(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large) << refused.error().describe();
  EXPECT_THAT(refused.error().message(), HasSubstr("offset 3"));
  EXPECT_EQ(values_in(cluster), (std::vector<std::string>{"0", "1", "2", "last"}));
}

// Where the one in the middle would have gone is not known, so it may have been the partition of those behind it.
TEST(KafkaWriter, WhatStandsBehindOneThatWentNowhereIsSentAgain) {
  MockCluster cluster;
  WriterRig rig(cluster);
  rig.setup.options.max_record_bytes.bytes = 2000;
  TopicWriter& writer = rig.open();
  SealedBatch batch = batch_of({{"first", "k"}, {std::string(3000, 'x'), "k"}, {"last", "k"}});
  for (int tries = 0; tries < 2; ++tries) {
    const auto refused = writer.write(batch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::too_large) << refused.error().describe();
  }
  EXPECT_EQ(values_in(cluster), (std::vector<std::string>{"first", "last", "last"}));
}

// Two brokers lead a partition each, and one refuses.
TEST(KafkaWriter, ARetrySendsAgainOnlyWhatStandsBehindAFailureInItsPartition) {
  MockCluster cluster(2, 2);
  for (int partition = 0; partition < 2; ++partition)
    rd_kafka_mock_partition_set_leader(cluster.get(), "orders", partition, partition + 1);
  WriterRig rig(cluster);
  rig.setup.options.on_write_failure = OnWriteFailure::fail;
  TopicWriter& writer = rig.open();
  SealedBatch first = batch_of(numbered(20), 1);
  ASSERT_TRUE(writer.write(first));
  ASSERT_EQ(
      rd_kafka_mock_broker_push_request_error_rtts(cluster.get(), 2, kProduce, 1, RD_KAFKA_RESP_ERR_INVALID_RECORD, 0),
      RD_KAFKA_RESP_ERR_NO_ERROR);
  SealedBatch batch = batch_of(numbered(500), 2);
  const auto refused = writer.write(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_request) << refused.error().describe();
  const auto written = writer.write(batch);
  ASSERT_TRUE(written) << written.error().describe();
  std::map<std::string, int> all;
  std::map<std::string, int> of_the_other;
  for (const Stored& one : stored_in(cluster, 2)) {
    ++all[one.value];
    if (one.partition == 0) ++of_the_other[one.value];
  }
  EXPECT_EQ(all.size(), 500U);
  EXPECT_GT(of_the_other.size(), 100U);
  for (const auto& [value, count] : of_the_other) EXPECT_EQ(count, std::stoi(value) < 20 ? 2 : 1) << value;
}

}  // namespace
}  // namespace millrace::kafka
