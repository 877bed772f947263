// SPDX-License-Identifier: Apache-2.0
#include "testing/simulation/watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::testing {
namespace {

constexpr std::size_t kTrace = 40;

}  // namespace

void Watch::note(std::string what) {
  report_.trace.push_back(std::move(what));
  if (report_.trace.size() > 2 * kTrace) {
    report_.trace.erase(report_.trace.begin(), report_.trace.end() - static_cast<std::ptrdiff_t>(kTrace));
  }
}

void Watch::breaks(const std::string& promise, const std::string& seen) {
  note("BROKEN: " + promise);
  const auto told = [&](const std::string& one) { return one.starts_with(promise); };
  if (std::ranges::none_of(report_.broken, told)) report_.broken.push_back(promise + ": " + seen);
}

void Watch::begin_run() {
  assigned_.clear();
  tried_.clear();
  newest_.clear();
}

void Watch::read(const PayloadBatch& batch) {
  for (std::size_t i = 0; i < batch.payloads.size(); ++i) {
    const auto [at, fresh] = read_[batch.partition].try_emplace(batch.offset(i), batch.payloads[i]);
    if (fresh || at->second == batch.payloads[i]) continue;
    breaks("an offset stands for one record",
           fmt::format("partition {} offset {}", batch.partition.value(), batch.offset(i).value()));
  }
}

void Watch::commits(std::span<const PartitionWatermark> watermarks) {
  const std::vector<std::string> there = durable_();
  const std::set<std::string_view> durable(there.begin(), there.end());
  for (const auto& [partition, watermark] : watermarks) {
    if (!assigned_.contains(partition)) {
      breaks("a position is committed for assigned partitions only", fmt::format("partition {}", partition.value()));
    }
    const auto before = committed_.find(partition);
    if (before != committed_.end() && watermark < before->second) {
      breaks("a position never goes back",
             fmt::format("partition {} from {} to {}", partition.value(), before->second.value(), watermark.value()));
    }
    const auto& records = read_[partition];
    if (watermark.value() > 0 && (records.empty() || watermark.value() > records.rbegin()->first.value() + 1)) {
      breaks("a position is at most one past what was read",
             fmt::format("partition {} at {}", partition.value(), watermark.value()));
    }
    for (const auto& [offset, payload] : records) {
      if (offset.value() >= watermark.value()) break;
      if (durable.contains(payload)) continue;
      breaks("committed is never ahead of durable",
             fmt::format("partition {} is committed at {}, and the record at offset {} is in no sink",
                         partition.value(), watermark.value(), offset.value()));
      break;
    }
  }
}

void Watch::committed(std::span<const PartitionWatermark> watermarks) {
  for (const auto& [partition, watermark] : watermarks) {
    committed_[partition] = watermark;
    note(fmt::format("committed: partition {} at {}", partition.value(), watermark.value()));
  }
}

void Watch::tries(const SealedBatch& batch, bool ordered) {
  const EncodedChunk& chunk = batch.chunk;
  const auto [at, fresh] =
      tried_.try_emplace({batch.token.lane.value(), batch.token.sequence},
                         Tried{std::string(chunk.bytes.view()), chunk.first_offset, chunk.last_offset});
  if (!fresh && (at->second.bytes != chunk.bytes.view() || at->second.first != chunk.first_offset ||
                 at->second.last != chunk.last_offset)) {
    breaks("a batch is the same on each try",
           fmt::format("token {} of lane {}", batch.token.sequence, batch.token.lane.value()));
  }
  if (!fresh || !ordered) return;
  std::uint64_t& newest = newest_[{batch.token.lane.value(), chunk.partition.value()}];
  if (batch.token.sequence + 1 <= newest) {
    breaks("batches of a partition are written in the order in which they were sealed",
           fmt::format("partition {} token {} after {}", chunk.partition.value(), batch.token.sequence, newest - 1));
  }
  newest = std::max(newest, batch.token.sequence + 1);
}

void Watch::completed(const std::vector<std::string>& expected, bool exactly_once) {
  std::map<std::string, std::size_t> times;
  for (std::string& record : durable_()) ++times[std::move(record)];
  for (const std::string& record : expected) {
    const std::size_t found = times.contains(record) ? times.at(record) : 0;
    if (found == 0) {
      breaks("Completed says that every record is durable", "missing: " + record);
    } else if (exactly_once && found > 1) {
      breaks("exactly once is once", fmt::format("{} is there {} times", record, found));
    }
  }
  for (const auto& [partition, records] : read_) {
    if (records.empty()) continue;
    const std::int64_t end = records.rbegin()->first.value() + 1;
    const auto found = committed_.find(partition);
    if (found != committed_.end() && found->second.value() == end) continue;
    breaks("Completed says that all is committed",
           fmt::format("partition {} ends at {}, committed is {}", partition.value(), end,
                       found == committed_.end() ? 0 : found->second.value()));
  }
}

}  // namespace millrace::testing
