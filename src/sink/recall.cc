// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/recall.h"

#include <algorithm>
#include <utility>

#include "millrace/record/record_place.h"

namespace millrace {

namespace {

auto place(std::int64_t bucket, std::string_view route) noexcept { return std::pair(bucket, route); }
auto place_of(const Recall::Durable& one) noexcept { return place(one.series.bucket, one.series.route); }

}  // namespace

void Recall::arrange() { std::ranges::sort(durable, {}, place_of); }

bool Recall::has(std::int64_t bucket, std::string_view route, Offset offset) const noexcept {
  if (offset < floor) return true;
  const auto known = std::ranges::lower_bound(durable, place(bucket, route), {}, place_of);
  return known != durable.end() && known->series.is(bucket, route) && offset <= known->through;
}

const Recall::Unsettled* Recall::to_be_made(const FileSeries& series, Offset first) const noexcept {
  const auto found = std::ranges::find(unsettled, series, &Unsettled::series);
  return found != unsettled.end() && first <= found->last ? &*found : nullptr;
}

Offset Recall::reaches() const noexcept {
  Offset last(floor.value() - 1);
  for (const Durable& one : durable) last = std::max(last, one.through);
  for (const Unsettled& one : unsettled) last = std::max(last, one.last);
  return last;
}

std::optional<Error> Recall::contradicted_by(const RecordMeta& meta) const {
  if (latest == kNoTimestamp || meta.timestamp <= latest) return std::nullopt;
  return Error::fatal(ErrorCode::drift,
                      record_place(meta) + ": the record there is of " + to_rfc3339(meta.timestamp, 6) +
                          ", but what an earlier run has read up to offset " + std::to_string(reaches().value()) +
                          " was of " + to_rfc3339(latest, 6) +
                          " or earlier: other records have these offsets now, as where a broker lost its newest ones "
                          "or a topic was purged. None of them is left out as written already. To write them choose "
                          "another prefix; or remove " +
                          note + ", and of the earlier run the files whose keys they would take");
}

}  // namespace millrace
