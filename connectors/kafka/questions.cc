// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/position_store.h"
#include "millrace/base/backoff.h"

namespace millrace::kafka {
namespace {

constexpr BackoffOptions kTries{std::chrono::milliseconds(50), std::chrono::seconds(2), 2.0};

Partition of(const rd_kafka_topic_partition_t& one) { return {one.topic, one.partition}; }

/// Calls `once` until it succeeds or fails for good; `until` bounds what may pass.
template <class Once>
auto ask(const Asking& asking, StopSignal& stop, SteadyTime until, Once once) -> decltype(once()) {
  Backoff backoff(kTries, *asking.random);
  bool told = false;
  for (;;) {
    if (stop.requested()) return fail(stopped_unanswered());
    auto answer = once();
    if (asking.alone) rd_kafka_poll(asking.client->get(), 0);
    if (answer || !answer.error().is_retryable() || answer.error().code() == ErrorCode::fenced) return answer;
    if (const auto fatal = asking.client->fatal()) return fail(*fatal);
    if (const auto refused = asking.client->refused(); refused && until != SteadyTime::max()) return fail(*refused);
    if (asking.clock->now() >= until) return answer;
    if (!std::exchange(told, true))
      asking.log.warn("kafka: a question to the brokers is asked again", {{"error", answer.error().describe()}});
    if (stop.wait(*asking.clock, backoff.next())) return fail(stopped_unanswered());
  }
}

/// The first error of an entry.
Result<void> check_entries(const ListHandle& list, std::string_view doing) {
  for (const auto& one : entries(list.get())) {
    if (one.err == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    return fail(error_of(one.err, fmt::format("{} of {}", doing, to_string(Partition{one.topic, one.partition}))));
  }
  return {};
}

/// Offsets by time, or RD_KAFKA_OFFSET_BEGINNING or RD_KAFKA_OFFSET_END in place of one, for all partitions at once.
Result<ListHandle> offsets_at(const Asking& asking, const std::vector<Partition>& partitions, std::int64_t time) {
  ListHandle list = to_list(partitions);
  for (auto& one : entries(list.get())) one.offset = time;
  const auto code = rd_kafka_offsets_for_times(asking.client->get(), list.get(), kAskMillis);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, "asking what partitions hold"));
  MILLRACE_TRY(check_entries(list, "asking what is held"));
  return list;
}

/// The positions of the group.
Result<ListHandle> stored_for(const Asking& asking, const std::vector<Partition>& partitions) {
  ListHandle list = to_list(partitions);
  const auto code = rd_kafka_committed(asking.client->get(), list.get(), kAskMillis);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, "reading the positions of the group"));
  MILLRACE_TRY(check_entries(list, "reading the position"));
  return list;
}

Result<std::vector<Partition>> partitions_of(const Asking& asking, const std::string& name) {
  rd_kafka_t* const handle = asking.client->get();
  const TopicHandle topic(rd_kafka_topic_new(handle, name.c_str(), nullptr));
  if (!topic) return fail(Error::config(fmt::format("kafka: '{}' is no name of a topic", name)));
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(handle, 0, topic.get(), &found, kAskMillis);
  const std::string doing = fmt::format("asking for topic '{}'", name);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, doing));
  const MetadataHandle metadata(found);
  std::vector<Partition> partitions;
  for (const auto& of : std::span(metadata->topics, static_cast<std::size_t>(metadata->topic_cnt))) {
    if (of.err != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(of.err, doing));
    for (const auto& one : std::span(of.partitions, static_cast<std::size_t>(of.partition_cnt)))
      partitions.push_back({name, one.id});
  }
  if (partitions.empty()) return fail(error_of(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing));
  std::ranges::sort(partitions);
  return partitions;
}

/// What is to be read: all partitions, or those that are named.
Result<std::vector<Partition>> named_of(const Asking& asking, std::vector<Partition> found, const std::string& topic) {
  const auto& named = asking.options->partitions;
  if (named.empty()) return found;
  std::vector<Partition> chosen;
  for (const std::string& number : named) {
    const auto one = std::ranges::find(found, number, [](const Partition& p) { return std::to_string(p.number); });
    if (one == found.end()) {
      return fail(Error::fatal(ErrorCode::not_found,
                               fmt::format("kafka: topic '{}' has no partition {}: its partitions are 0 to {}; correct "
                                           "`partitions`",
                                           topic, number, found.size() - 1)));
    }
    chosen.push_back(*one);
  }
  return chosen;
}

/// Why a run does not begin: what no retry heals says so itself.
Error unanswered(const Asking& asking, Error error) {
  if (!error.is_retryable()) return error;
  const std::string trouble = asking.client->trouble();
  const std::string brokers = fmt::format("{}", fmt::join(asking.options->brokers, ","));
  const bool unknown = error.code() == ErrorCode::not_found;
  return std::move(error)
      .prefixed(unknown ? fmt::format("the brokers ({}) have no such topic: create it, or correct `topics`: ", brokers)
                        : fmt::format("no answer from the brokers ({}) within connect_timeout; check `brokers`, and "
                                      "security.protocol in `properties`{}{}: ",
                                      brokers, trouble.empty() ? "" : "; the last that was heard: ", trouble))
      .as(ErrorClass::fatal);
}

std::string cluster_id(const Asking& asking) {
  char* const id = rd_kafka_clusterid(asking.client->get(), kAskMillis);
  std::string text = id == nullptr ? "" : id;
  rd_kafka_mem_free(asking.client->get(), id);
  return text;
}

/// Stores where partitions begin. A group that has members takes nothing from a run that names its partitions; they may
/// be on their way out, so they are given as long as brokers are when a run begins.
Result<void> store_first(const Asking& asking, const std::vector<StoredPosition>& positions, StopSignal& stop) {
  const KafkaSourceOptions& options = *asking.options;
  const bool member = options.partitions.empty();
  const SteadyTime until = member ? SteadyTime::max() : asking.clock->now() + options.connect_timeout;
  Result<void> stored = ask(asking, stop, until, [&]() -> Result<void> {
    Result<void> once = store_now(*asking.client, positions);
    const bool outside = !member && !once && once.error().code() == ErrorCode::fenced;
    if (outside) return fail(group_in_use(options.group));
    return once;
  });
  if (!stored && !member) return fail(std::move(stored).error().as(ErrorClass::fatal));
  return stored;
}

/// With read_committed a partition ends before the first transaction that is open. A position may be stored behind that
/// end, as read_uncommitted leaves one, and what is there is held all the same: such ends are moved to the position.
Result<void> reach_into_transactions(const Asking& asking, const ListHandle& stored, const ListHandle& ends,
                                     StopSignal& stop) {
  std::vector<Partition> behind;
  const auto positions = entries(stored.get());
  const auto stable = entries(ends.get());
  for (std::size_t i = 0; i < stable.size(); ++i) {
    if (positions[i].offset > stable[i].offset) behind.push_back(of(stable[i]));
  }
  if (behind.empty() || asking.options->isolation != KafkaIsolation::read_committed) return {};
  // The library asks with its own isolation only, so another client does.
  KafkaSourceOptions options = *asking.options;
  options.isolation = KafkaIsolation::read_uncommitted;
  MILLRACE_ASSIGN(ConfHandle conf, source_conf(options, "ends"));
  Asking other = asking;
  other.alone = true;
  MILLRACE_ASSIGN(other.client, Client::make(RD_KAFKA_CONSUMER, std::move(conf), asking.log, nullptr));
  MILLRACE_ASSIGN(const ListHandle written,
                  ask(other, stop, SteadyTime::max(), [&] { return offsets_at(other, behind, RD_KAFKA_OFFSET_END); }));
  for (const auto& end : entries(written.get())) {
    for (std::size_t i = 0; i < stable.size(); ++i) {
      if (of(stable[i]) == of(end) && positions[i].offset <= end.offset) stable[i].offset = positions[i].offset;
    }
  }
  return {};
}

std::string new_mark(Random& random) { return fmt::format("millrace:{:016x}", random.next()); }

}  // namespace

Result<Cluster> ask_cluster(const Asking& asking, StopSignal& stop) {
  const SteadyTime until = asking.clock->now() + asking.options->connect_timeout;
  Cluster cluster;
  for (const std::string& topic : asking.options->topics) {
    auto found = ask(asking, stop, until, [&] { return partitions_of(asking, topic); });
    if (!found) return fail(unanswered(asking, std::move(found).error()));
    MILLRACE_ASSIGN(auto chosen, named_of(asking, *std::move(found), topic));
    std::ranges::move(chosen, std::back_inserter(cluster.partitions));
  }
  cluster.id = cluster_id(asking);
  if (!asking.options->bounded) return cluster;
  auto ends = ask(asking, stop, until, [&] { return offsets_at(asking, cluster.partitions, RD_KAFKA_OFFSET_END); });
  if (!ends) return fail(unanswered(asking, std::move(ends).error()));
  for (const auto& one : entries(ends->get())) cluster.ends[{one.topic, one.partition}] = Watermark(one.offset);
  return cluster;
}

Result<std::vector<std::optional<Watermark>>> ask_stored(const Asking& asking, const std::vector<Partition>& partitions,
                                                         SteadyTime until, StopSignal& stop) {
  const auto found = ask(asking, stop, until, [&] { return stored_for(asking, partitions); });
  if (!found) return fail(unanswered(asking, found.error()));
  std::vector<std::optional<Watermark>> stored;
  for (const auto& one : entries(found->get())) {
    std::optional<Watermark>& at = stored.emplace_back();
    if (one.offset >= 0) at = Watermark(one.offset);
  }
  return stored;
}

Result<std::vector<Beginning>> ask_beginnings(const Asking& asking, const std::vector<Partition>& partitions,
                                              StopSignal& stop) {
  if (partitions.empty()) return std::vector<Beginning>();
  const auto forever = SteadyTime::max();
  MILLRACE_ASSIGN(const ListHandle stored, ask(asking, stop, forever, [&] { return stored_for(asking, partitions); }));
  const auto at = [&](std::int64_t time) {
    return ask(asking, stop, forever, [&, time] { return offsets_at(asking, partitions, time); });
  };
  MILLRACE_ASSIGN(const ListHandle firsts, at(RD_KAFKA_OFFSET_BEGINNING));
  MILLRACE_ASSIGN(const ListHandle ends, at(RD_KAFKA_OFFSET_END));
  MILLRACE_TRY(reach_into_transactions(asking, stored, ends, stop));
  std::vector<Beginning> beginnings;
  std::vector<StoredPosition> to_store;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const auto& kept = entries(stored.get())[i];
    std::optional<Watermark> position;
    if (kept.offset >= 0) position = Watermark(kept.offset);
    const std::string_view metadata(static_cast<const char*>(kept.metadata), kept.metadata_size);
    const std::string name = fmt::format("topic '{}', partition {}", partitions[i].topic, partitions[i].number);
    const HeldRange held{Offset(entries(firsts.get())[i].offset), Watermark(entries(ends.get())[i].offset)};
    MILLRACE_ASSIGN(const StreamBeginning begins,
                    stream_beginning(position, held, asking.options->start, asking.options->on_position_lost, name));
    if (!begins.notice.empty()) asking.log.warn("kafka: " + begins.notice);
    Beginning beginning{partitions[i], begins.from, std::string(metadata)};
    if (begins.at) {
      const std::int64_t millis = (*begins.at + 999) / 1000;
      MILLRACE_ASSIGN(const ListHandle found,
                      ask(asking, stop, forever, [&, millis] { return offsets_at(asking, {partitions[i]}, millis); }));
      // No record is that young: the end.
      if (entries(found.get())[0].offset >= 0) beginning.at = Watermark(entries(found.get())[0].offset);
    }
    const bool marked = metadata.starts_with("millrace:");
    if (!marked) beginning.mark = new_mark(*asking.random);
    if (!marked || position != beginning.at) to_store.push_back({partitions[i], beginning.at, beginning.mark});
    beginnings.push_back(std::move(beginning));
  }
  if (!to_store.empty()) MILLRACE_TRY(store_first(asking, to_store, stop));
  return beginnings;
}

Result<std::vector<Partition>> ask_unread(const Asking& asking, const std::vector<Partition>& partitions,
                                          const std::map<Partition, Watermark>& ends) {
  MILLRACE_ASSIGN(const ListHandle list, stored_for(asking, partitions));
  std::vector<Partition> unread;
  for (const auto& one : entries(list.get())) {
    const auto end = ends.find(Partition{one.topic, one.partition});
    if (end != ends.end() && one.offset < end->second.value()) unread.push_back(end->first);
  }
  return unread;
}

}  // namespace millrace::kafka
