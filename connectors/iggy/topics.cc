// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/topics.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::iggy_source {
namespace {

// A server that could not look says that no offset is stored, too: it has to say so this often in a row.
constexpr int kNothingStored = 3;

}  // namespace

Topics::Topics(const IggySourceOptions& options, Logger log)
    : options_(&options), consumer_(consumer_of(options)), numbers_(listed_partitions(options)), log_(std::move(log)) {}

std::uint32_t Topics::partitions(std::uint32_t topic) const {
  return static_cast<std::uint32_t>(seen_[topic].partitions.size());
}

std::string Topics::lineage(std::uint32_t topic) const { return seen_[topic].lineage; }

const iggy::PartitionInfo* Topics::info(Partition partition) const {
  const auto& all = seen_[partition.topic].partitions;
  const auto found = std::ranges::find(all, partition.number, &iggy::PartitionInfo::id);
  return found == all.end() ? nullptr : &*found;
}

Result<Topics::Look> Topics::look(iggy::Client& client) {
  MILLRACE_ASSIGN(const auto stream, client.get_stream(iggy::Identifier::name(options_->stream)));
  if (!stream) return fail(missing(fmt::format("stream '{}'", options_->stream)));
  std::vector<Seen> seen;
  Look result;
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    MILLRACE_ASSIGN(auto found, client.get_topic(topic_name(*options_, topic)));
    if (!found && seen_.empty()) return fail(missing(topic_text(*options_, topic)));
    // The others are read all the same.
    if (!found) {
      result.gone.push_back(topic);
      seen.push_back({seen_[topic].lineage, {}, false});
      continue;
    }
    seen.push_back({fmt::format("iggy {}@{}/{}@{}", (*stream).id, (*stream).created_at, found->id, found->created_at),
                    std::move(found->partitions)});
  }
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    if (seen_.empty() || seen_[topic].lineage == seen[topic].lineage) continue;
    result.anew.push_back(topic);
    std::erase_if(ends_, [&](const auto& one) { return one.first.topic == topic; });
  }
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    for (const iggy::PartitionInfo& one : seen[topic].partitions) ends_.try_emplace({topic, one.id}, end_of(one));
  }
  seen_ = std::move(seen);
  return result;
}

Result<std::vector<Partition>> Topics::listed() const {
  std::vector<Partition> all;
  for (std::uint32_t topic = 0; topic < count(); ++topic) {
    if (!is_there(topic)) continue;
    for (const std::uint32_t number : numbers_) {
      if (info({topic, number}) == nullptr) return fail(missing(text(*options_, {topic, number})));
      all.push_back({topic, number});
    }
    if (!numbers_.empty()) continue;
    for (const iggy::PartitionInfo& one : seen_[topic].partitions) all.push_back({topic, one.id});
  }
  return all;
}

Result<StreamBeginning> Topics::where(HeldRange range, std::optional<Watermark> position, Partition partition,
                                      const std::optional<std::string>& lost) const {
  const std::string named = text(*options_, partition);
  if (!lost) return stream_beginning(position, range, options_->start, options_->on_position_lost, named);
  const std::string what = fmt::format(
      "{}: {}; {}", named, *lost,
      range.first.value() == range.end.value()
          ? "the server holds nothing now"
          : fmt::format("the server holds offsets {} to {} now", range.first.value(), range.end.value() - 1));
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

Result<std::optional<Watermark>> Topics::stored(iggy::Client& client, Partition partition) const {
  for (int asked = 0; asked < kNothingStored; ++asked) {
    MILLRACE_ASSIGN(const auto found,
                    client.get_offset(consumer_, topic_name(*options_, partition.topic), partition.number));
    if (found) return watermark_behind(found->stored);
  }
  return std::nullopt;
}

// What this process has made durable is passed, whatever the server could be told of it; unless others have had the
// partition since, who may have had a reason to go back.
std::optional<Watermark> Topics::newest(std::optional<Watermark> stored, const std::optional<Kept>& kept,
                                        Partition partition) const {
  if (!kept || (stored && kept->yielded)) return stored;
  if (stored) return std::max(*stored, kept->settled);
  if (!kept->was_stored) return kept->settled;
  log_.warn("the server says that it keeps no offset of a partition that was read; going on behind what was written",
            {{"partition", text(*options_, partition)}, {"offset", std::to_string(kept->settled.value())}});
  return kept->settled;
}

Result<Beginning> Topics::begin(iggy::Client& client, Partition partition, const std::optional<Kept>& kept,
                                const std::optional<Loss>& loss) {
  Beginning made;
  made.partition = partition;
  if (kept) made.yields = kept->yields;
  MILLRACE_ASSIGN(made.stored, stored(client, partition));
  std::optional<std::string> gone;
  if (loss && !(loss->unless_stored && made.stored)) gone = loss->what;
  if (!gone && kept && kept->known && !(kept->yielded && made.stored)) {
    MILLRACE_ASSIGN(gone, loss_of(client, *options_, partition, *kept->known));
  }
  const std::optional<Watermark> behind = newest(made.stored, kept, partition);
  MILLRACE_ASSIGN(const HeldRange range, held(client, *options_, partition));
  MILLRACE_ASSIGN(const StreamBeginning beginning, where(range, gone ? std::nullopt : behind, partition, gone));
  if (!beginning.notice.empty()) log_.warn(beginning.notice);
  if (gone && behind && behind->value() < range.first.value()) {
    // What was lost is not all that goes unread: retention took what lay before it.
    MILLRACE_ASSIGN(const StreamBeginning passed, where(range, behind, partition, std::nullopt));
    log_.warn(passed.notice);
  }
  made.from = beginning.from;
  made.server_end = range.end;
  if (beginning.at) {
    MILLRACE_ASSIGN(made.from, offset_at(client, *options_, partition, *beginning.at, range));
  }
  if (options_->bounded) {
    Watermark& end = ends_.try_emplace(partition, range.end).first->second;
    // What was there at the start and is not any more is not waited for. Figures of nothing may have been wrong.
    if (gone || end > range.end || end == Watermark(0)) end = range.end;
    made.end = end;
  }
  if (const auto before = stored_offset(made.from)) {
    MILLRACE_ASSIGN(made.known, message_at(client, *options_, partition, *before));
  }
  MILLRACE_TRY(put_right(client, made, range));
  return made;
}

Result<void> Topics::put_right(iggy::Client& client, Beginning& beginning, HeldRange range) const {
  if (beginning.from == beginning.stored) return {};
  const Partition partition = beginning.partition;
  const iggy::TopicName topic = topic_name(*options_, partition.topic);
  const bool empty = range.first.value() == range.end.value();
  if (const auto offset = stored_offset(beginning.from)) {
    MILLRACE_ASSIGN(const iggy::StoreOutcome outcome, client.store_offset(consumer_, topic, partition.number, *offset));
    switch (outcome) {
      case iggy::StoreOutcome::stored:
        beginning.stored = beginning.from;
        return {};
      case iggy::StoreOutcome::not_ours:
        return fail(Error::retryable(
            ErrorCode::fenced, fmt::format("{} is another member's before it was begun", text(*options_, partition))));
      case iggy::StoreOutcome::beyond_end:
        if (empty) break;
        return fail(Error::retryable(
            ErrorCode::bad_response,
            fmt::format("{}: the server refuses to store offset {}, though it holds {} to {}",
                        text(*options_, partition), *offset, range.first.value(), range.end.value() - 1)));
    }
  }
  // An offset that is stored names a message that was processed: there is none that says "nothing yet".
  if (beginning.stored) {
    MILLRACE_TRY(client.delete_offset(consumer_, topic, partition.number));
    beginning.stored.reset();
  }
  if (empty && options_->start.kind != StreamStart::Kind::earliest) {
    log_.warn(
        "the partition is empty, so that the server cannot keep where it begins; if this process ends before the first "
        "record is written, the next one begins where `start` says then",
        {{"partition", text(*options_, partition)}});
  }
  return {};
}

Result<std::optional<Topics::Unread>> Topics::unread_by_others(iggy::Client& client,
                                                               const std::vector<Partition>& ours) const {
  if (options_->consumer_group.empty()) return std::nullopt;
  for (const auto& [partition, end] : ends_) {
    const iggy::PartitionInfo* const now = info(partition);
    if (now == nullptr || std::ranges::find(ours, partition) != ours.end()) continue;
    if (now->messages == 0) {
      MILLRACE_ASSIGN(const HeldRange range, held(client, *options_, partition));
      if (range.first.value() == range.end.value()) continue;
    }
    MILLRACE_ASSIGN(const auto position, stored(client, partition));
    const Unread unread{partition, position.value_or(Watermark(0)), std::min(end, end_of(*now))};
    if (unread.position < unread.end) return unread;
  }
  return std::nullopt;
}

}  // namespace millrace::iggy_source
