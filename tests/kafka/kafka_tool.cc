// SPDX-License-Identifier: Apache-2.0
// What tests do to a broker beside reading and writing: kcat does that, and nothing of this.
//
//   kafka_tool BROKERS create TOPIC PARTITIONS [NAME=VALUE...]   a topic with these settings
//   kafka_tool BROKERS delete TOPIC
//   kafka_tool BROKERS trim TOPIC PARTITION OFFSET               deletes the records before OFFSET
//   kafka_tool BROKERS transaction TOPIC PARTITION commit|abort|leave  writes the lines of stdin in one transaction;
//                                                                      one that is left is open for a minute
//   kafka_tool BROKERS position GROUP TOPIC PARTITION            prints the stored position, or none
//   kafka_tool BROKERS store GROUP TOPIC PARTITION OFFSET        stores one
#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kMillis = 20'000;

[[noreturn]] void die(std::string_view what, std::string_view why) {
  std::cerr << "kafka_tool: " << what << ": " << why << "\n";
  std::exit(1);
}

void check(rd_kafka_resp_err_t code, std::string_view what) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) die(what, rd_kafka_err2str(code));
}

void check(rd_kafka_error_t* error, std::string_view what) {
  if (error != nullptr) die(what, rd_kafka_error_string(error));
}

struct Handle {
  Handle(rd_kafka_type_t type, const std::vector<std::pair<std::string, std::string>>& settings) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    char text[512];
    for (const auto& [name, value] : settings) {
      if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK) die(name, text);
    }
    handle = rd_kafka_new(type, conf, text, sizeof text);
    if (handle == nullptr) die("a client", text);
  }
  ~Handle() { rd_kafka_destroy(handle); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  rd_kafka_t* handle = nullptr;
};

/// Waits for the answer to an admin request; the topics or partitions in it must all have succeeded.
void wait(rd_kafka_queue_t* queue, std::string_view what) {
  rd_kafka_event_t* const event = rd_kafka_queue_poll(queue, kMillis);
  if (event == nullptr) die(what, "no answer");
  check(rd_kafka_event_error(event), what);
  const rd_kafka_topic_result_t** topics = nullptr;
  std::size_t count = 0;
  if (const auto* created = rd_kafka_event_CreateTopics_result(event))
    topics = rd_kafka_CreateTopics_result_topics(created, &count);
  if (const auto* deleted = rd_kafka_event_DeleteTopics_result(event))
    topics = rd_kafka_DeleteTopics_result_topics(deleted, &count);
  for (std::size_t i = 0; i < count; ++i) check(rd_kafka_topic_result_error(topics[i]), what);
  if (const auto* trimmed = rd_kafka_event_DeleteRecords_result(event)) {
    const auto* offsets = rd_kafka_DeleteRecords_result_offsets(trimmed);
    for (int i = 0; i < offsets->cnt; ++i) check(offsets->elems[i].err, what);
  }
  rd_kafka_event_destroy(event);
}

void create(rd_kafka_t* handle, const std::vector<std::string>& words) {
  char text[512];
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(words.at(0).c_str(), std::stoi(words.at(1)), 1, text, sizeof text);
  if (topic == nullptr) die("create", text);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    check(rd_kafka_NewTopic_set_config(topic, words[i].substr(0, equals).c_str(), words[i].substr(equals + 1).c_str()),
          "create");
  }
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_CreateTopics(handle, &topic, 1, nullptr, queue);
  wait(queue, "create");
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(topic);
}

void remove(rd_kafka_t* handle, const std::vector<std::string>& words) {
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(words.at(0).c_str());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteTopics(handle, &topic, 1, nullptr, queue);
  wait(queue, "delete");
  rd_kafka_queue_destroy(queue);
  rd_kafka_DeleteTopic_destroy(topic);
}

void trim(rd_kafka_t* handle, const std::vector<std::string>& words) {
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, words.at(0).c_str(), std::stoi(words.at(1)))->offset =
      std::stoll(words.at(2));
  rd_kafka_DeleteRecords_t* records = rd_kafka_DeleteRecords_new(list);
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteRecords(handle, &records, 1, nullptr, queue);
  wait(queue, "trim");
  rd_kafka_queue_destroy(queue);
  rd_kafka_DeleteRecords_destroy(records);
  rd_kafka_topic_partition_list_destroy(list);
}

void transaction(const std::string& brokers, const std::vector<std::string>& words) {
  const Handle producer(RD_KAFKA_PRODUCER, {{"bootstrap.servers", brokers}, {"transactional.id", "kafka_tool"}});
  rd_kafka_t* const handle = producer.handle;
  check(rd_kafka_init_transactions(handle, kMillis), "transaction");
  check(rd_kafka_begin_transaction(handle), "transaction");
  for (std::string line; std::getline(std::cin, line);) {
    std::array<rd_kafka_vu_t, 4> with{};
    with[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    with[0].u.cstr = words.at(0).c_str();
    with[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    with[1].u.i32 = std::stoi(words.at(1));
    with[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    with[2].u.i = RD_KAFKA_MSG_F_COPY;
    with[3].vtype = RD_KAFKA_VTYPE_VALUE;
    with[3].u.mem = {line.data(), line.size()};
    check(rd_kafka_produceva(handle, with.data(), with.size()), "transaction");
  }
  check(rd_kafka_flush(handle, kMillis), "transaction");
  if (words.at(2) == "leave") return;
  check(words.at(2) == "commit" ? rd_kafka_commit_transaction(handle, kMillis)
                                : rd_kafka_abort_transaction(handle, kMillis),
        "transaction");
}

void position(const std::string& brokers, const std::vector<std::string>& words, bool store) {
  const Handle consumer(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers}, {"group.id", words.at(0)}});
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  auto* const one = rd_kafka_topic_partition_list_add(list, words.at(1).c_str(), std::stoi(words.at(2)));
  if (store) {
    one->offset = std::stoll(words.at(3));
    check(rd_kafka_commit(consumer.handle, list, 0), "store");
  } else {
    check(rd_kafka_committed(consumer.handle, list, kMillis), "position");
    const auto offset = list->elems[0].offset;
    std::cout << (offset < 0 ? std::string("none") : std::to_string(offset)) << "\n";
  }
  rd_kafka_topic_partition_list_destroy(list);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  if (all.size() < 3) die("usage", "kafka_tool BROKERS create|delete|trim|transaction|position|store ...");
  const std::vector<std::string> words(all.begin() + 2, all.end());
  if (all[1] == "transaction") {
    transaction(all[0], words);
  } else if (all[1] == "position" || all[1] == "store") {
    position(all[0], words, all[1] == "store");
  } else {
    const Handle admin(RD_KAFKA_PRODUCER, {{"bootstrap.servers", all[0]}});
    if (all[1] == "create") {
      create(admin.handle, words);
    } else if (all[1] == "delete") {
      remove(admin.handle, words);
    } else if (all[1] == "trim") {
      trim(admin.handle, words);
    } else {
      die(all[1], "no such command");
    }
  }
}
