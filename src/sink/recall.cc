// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/recall.h"

#include <algorithm>
#include <utility>

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

}  // namespace millrace
