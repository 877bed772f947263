// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "connectors/s3/codec_choice.h"
#include "millrace/base/bounded.h"

namespace millrace::s3_source {
namespace {

// A lane with more than this times the mean is what the others wait for.
constexpr double kHeavy = 1.5;

}  // namespace

bool BackfillPlan::can_run() const {
  return resume.kind != ResumePlan::Kind::refused && !archived_unasked && (!sample || sample->problems() == 0);
}

std::optional<Estimate> estimate_of(const BackfillPlan& plan) {
  if (!plan.sample || plan.codecs.empty()) return std::nullopt;
  double decoded = 0;
  for (const CodecShare& share : plan.codecs) {
    const auto expansion = plan.sample->expansion(share.codec);
    if (!expansion) return std::nullopt;
    decoded += static_cast<double>(share.bytes) * *expansion;
  }
  Estimate estimate{.decoded = static_cast<std::uint64_t>(std::llround(decoded)), .records = std::nullopt};
  if (const auto record = plan.sample->record_bytes()) {
    estimate.records = static_cast<std::uint64_t>(std::llround(decoded / *record));
  }
  return estimate;
}

std::vector<CodecShare> codec_mix(const Listing& listing, ObjectCodec setting) {
  const std::optional<Codec> fixed = codec_of_setting(setting);
  std::array<CodecShare, kCodecs.size() + 1> shares;
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i].codec = static_cast<Codec>(i);
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const ListedObject object = listing[i];
    if (!object.has_bytes()) continue;
    CodecShare& share = shares[static_cast<std::size_t>(fixed.value_or(codec_of_key(object.key)))];
    ++share.objects;
    share.bytes = bounded_sum(share.bytes, object.size);
  }
  std::vector<CodecShare> mix;
  std::ranges::copy_if(shares, std::back_inserter(mix), [](const CodecShare& share) { return share.objects != 0; });
  return mix;
}

LaneBalance balance_of(const Listing& listing, std::uint64_t lanes) {
  struct Load {
    std::uint64_t bytes = 0;
    std::size_t largest = 0;  // place in the listing
  };
  std::vector<Load> loads(lanes);
  for (std::size_t i = 0; i < listing.size(); ++i) {
    Load& load = loads[i % lanes];
    if (i < lanes || listing[i].size > listing[load.largest].size) load.largest = i;
    load.bytes = bounded_sum(load.bytes, listing[i].size);
  }
  const auto [least, most] = std::ranges::minmax_element(loads, {}, &Load::bytes);
  LaneBalance balance{.lanes = lanes,
                      .least_objects = listing.objects_of_lane(lanes - 1, lanes),
                      .most_objects = listing.objects_of_lane(0, lanes),
                      .least_bytes = least->bytes,
                      .most_bytes = most->bytes};
  const double mean = static_cast<double>(listing.bytes()) / static_cast<double>(lanes);
  if (static_cast<double>(most->bytes) > kHeavy * mean) {
    const ListedObject largest = listing[most->largest];
    balance.heavy = LaneBalance::Heavy{.lane = static_cast<std::uint64_t>(most - loads.begin()),
                                       .times_mean = static_cast<double>(most->bytes) / mean,
                                       .key = std::string(largest.key),
                                       .bytes = largest.size};
  }
  return balance;
}

WorkLeft work_left(const Listing& listing, const std::vector<Position>& starts, const ReadChunks& chunks) {
  WorkLeft left;
  const std::uint64_t lanes = starts.size();
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    const Position& start = starts[lane];
    const std::uint64_t objects = listing.objects_of_lane(lane, lanes);
    const std::uint64_t first = start.ordinal + (start.object_complete() ? 1 : 0);
    if (start.index != 0 && !start.object_complete()) {
      ++left.in_progress;
      left.records_again += start.index;
    }
    for (std::uint64_t ordinal = first; ordinal < objects; ++ordinal) {
      const ListedObject object = listing.object_of_lane(lane, lanes, ordinal);
      ++left.objects;
      if (!object.has_bytes()) continue;
      left.bytes = bounded_sum(left.bytes, object.size);
      left.reads = bounded_sum(left.reads, chunks.reads_of(object.size));
    }
  }
  return left;
}

}  // namespace millrace::s3_source
