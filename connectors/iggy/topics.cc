// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/topics.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::iggy_source {
namespace {

// For reads of explicit positions, which store nothing: whoever asks.
const iggy::Consumer kReader = iggy::Consumer::individual(iggy::Identifier::number(0));

// A record of a partition that was never written to says 0 for the last offset, as one with one message does.
Watermark end_of(const iggy::PartitionInfo& partition) {
  if (partition.messages == 0 && partition.last_offset == 0) return Watermark(0);
  return watermark_behind(partition.last_offset);
}

Error missing(const std::string& what) {
  return Error::retryable(ErrorCode::not_found, what + "; make it, or correct the name");
}

}  // namespace

Topics::Topics(const IggySourceOptions& options, Logger log)
    : options_(&options), consumer_(consumer_of(options)), numbers_(listed_partitions(options)), log_(std::move(log)) {}

iggy::TopicName Topics::name(std::uint32_t topic) const {
  return {iggy::Identifier::name(options_->stream), iggy::Identifier::name(options_->topics[topic])};
}

std::uint32_t Topics::partitions(std::uint32_t topic) const {
  return static_cast<std::uint32_t>(seen_[topic].partitions.size());
}

std::string Topics::text(Partition partition) const {
  const iggy::TopicName topic = name(partition.topic);
  return fmt::format("'{}/{}' partition {}", iggy::to_string(topic.stream), iggy::to_string(topic.topic),
                     partition.number);
}

std::string Topics::lineage(std::uint32_t topic) const { return seen_[topic].lineage; }

Result<bool> Topics::look(iggy::Client& client) {
  MILLRACE_ASSIGN(const auto stream, client.get_stream(iggy::Identifier::name(options_->stream)));
  if (!stream) return fail(missing(fmt::format("there is no stream '{}'", iggy::to_string(name(0).stream))));
  std::vector<Seen> seen;
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    MILLRACE_ASSIGN(auto found, client.get_topic(name(topic)));
    if (!found) {
      return fail(missing(fmt::format("there is no topic '{}/{}'", iggy::to_string(name(topic).stream),
                                      iggy::to_string(name(topic).topic))));
    }
    seen.push_back({fmt::format("iggy {}@{}/{}@{}", (*stream).id, (*stream).created_at, found->id, found->created_at),
                    std::move(found->partitions)});
  }
  const bool anew = !seen_.empty() && !std::ranges::equal(seen, seen_, {}, &Seen::lineage, &Seen::lineage);
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    for (const iggy::PartitionInfo& one : seen[topic].partitions) ends_.try_emplace({topic, one.id}, end_of(one));
  }
  seen_ = std::move(seen);
  return anew;
}

Result<std::vector<Partition>> Topics::listed() const {
  std::vector<Partition> all;
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    const auto there = [&](std::uint32_t number) {
      return std::ranges::find(seen_[topic].partitions, number, &iggy::PartitionInfo::id) !=
             seen_[topic].partitions.end();
    };
    for (const std::uint32_t number : numbers_) {
      if (!there(number)) return fail(missing("there is no " + text({topic, number})));
      all.push_back({topic, number});
    }
    if (!numbers_.empty()) continue;
    for (const iggy::PartitionInfo& one : seen_[topic].partitions) all.push_back({topic, one.id});
  }
  return all;
}

Result<HeldRange> Topics::held(iggy::Client& client, Partition partition) const {
  MILLRACE_ASSIGN(const auto topic, client.get_topic(name(partition.topic)));
  const auto* const found = topic ? &topic->partitions : nullptr;
  const auto info = found ? std::ranges::find(*found, partition.number, &iggy::PartitionInfo::id)
                          : std::vector<iggy::PartitionInfo>::const_iterator();
  if (found == nullptr || info == found->end()) return fail(missing("there is no " + text(partition)));
  const Watermark end = end_of(*info);
  // The record has the last offset only; the first is that of the first message.
  iggy::PolledMessages first;
  MILLRACE_TRY(client.poll({kReader, name(partition.topic), partition.number, iggy::PollFrom::first(), 1}, first));
  if (first.messages().empty()) return HeldRange{Offset(end.value()), end};
  const auto offset = static_cast<std::int64_t>(first.messages().front().offset);
  return HeldRange{Offset(offset), std::max(end, Watermark(offset + 1))};
}

Result<StreamBeginning> Topics::where(HeldRange range, std::optional<Watermark> kept, Partition partition,
                                      const std::optional<std::string>& lost) const {
  if (!lost) return stream_beginning(kept, range, options_->start, options_->on_position_lost, text(partition));
  const std::string what = fmt::format("{}: {}; the server holds offsets {} to {} now", text(partition), *lost,
                                       range.first.value(), range.end.value() - 1);
  switch (options_->on_position_lost) {
    case OnPositionLost::earliest:
      return StreamBeginning{Watermark(range.first.value()), {}, what + "; reading what it holds from the beginning"};
    case OnPositionLost::latest:
      return StreamBeginning{range.end, {}, what + fmt::format("; going on at {}", range.end.value())};
    case OnPositionLost::fail:
      break;
  }
  return fail(Error::fatal(ErrorCode::drift,
                           what + "; set on_position_lost to earliest to read again what it holds, or to latest to go "
                                  "on with what comes from now on"));
}

Result<Watermark> Topics::at_time(iggy::Client& client, Partition partition, UnixMicros at, Watermark otherwise) const {
  iggy::PolledMessages polled;
  const auto micros = static_cast<std::uint64_t>(std::max<UnixMicros>(at, 0));
  MILLRACE_TRY(
      client.poll({kReader, name(partition.topic), partition.number, iggy::PollFrom::timestamp(micros), 1}, polled));
  if (polled.messages().empty()) return otherwise;
  return Watermark(static_cast<std::int64_t>(polled.messages().front().offset));
}

Result<Beginning> Topics::begin(iggy::Client& client, Partition partition, std::optional<Watermark> settled,
                                const std::optional<std::string>& lost) {
  MILLRACE_ASSIGN(const auto found, client.get_offset(consumer_, name(partition.topic), partition.number));
  std::optional<Watermark> stored;
  if (found) stored = watermark_behind(found->stored);
  // What this process has made durable is passed, whatever the server could be told of it.
  const std::optional<Watermark> kept = settled && (!stored || *settled > *stored) ? settled : stored;
  MILLRACE_ASSIGN(const HeldRange range, held(client, partition));
  MILLRACE_ASSIGN(const StreamBeginning beginning, where(range, kept, partition, lost));
  if (!beginning.notice.empty()) log_.warn(beginning.notice);
  Beginning made{partition, beginning.from, stored, {}};
  if (beginning.at) {
    MILLRACE_ASSIGN(made.from, at_time(client, partition, *beginning.at, range.end));
  }
  if (options_->bounded) made.end = ends_.try_emplace(partition, range.end).first->second;
  const auto offset = stored_offset(made.from);
  if (offset && made.from != stored && (!kept || made.from != *kept)) {
    MILLRACE_ASSIGN(const iggy::StoreOutcome outcome,
                    client.store_offset(consumer_, name(partition.topic), partition.number, *offset));
    if (outcome == iggy::StoreOutcome::stored) made.stored = made.from;
  }
  return made;
}

}  // namespace millrace::iggy_source
