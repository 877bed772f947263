// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/route.h"

#include <algorithm>
#include <utility>

namespace millrace::s3_source {
namespace {

std::optional<Visit::Version> version_of(const Listing& now, std::string_view key) {
  const auto place = now.find(key);
  if (!place) return std::nullopt;
  const ListedObject object = now[*place];
  return Visit::Version{std::string(object.etag), object.size, object.last_modified, object.kind};
}

std::uint64_t ordinal_of(const Visit& visit) { return visit.was.ordinal; }

}  // namespace

std::uint64_t Visit::written() const {
  const bool same = was.retry && now && now->etag == was.retry->etag && ETag{now->etag}.pins();
  return same ? was.retry->records : was.records;
}

std::vector<std::vector<Visit>> visits_of(const Quarantine& quarantine, const Listing& now, std::uint64_t lanes) {
  std::vector<std::vector<Visit>> visits(lanes);
  for (const QuarantinedObject& object : quarantine) {
    visits.at(object.lane).push_back({object, version_of(now, object.key)});
  }
  return visits;
}

LaneRoute::LaneRoute(std::shared_ptr<const Listing> listing, std::uint64_t lane, std::uint64_t lanes, Position start)
    : listing_(std::move(listing)),
      lane_(lane),
      lanes_(lanes),
      objects_(listing_->objects_of_lane(lane, lanes)),
      start_(start),
      at_(start.ordinal + (start.object_complete() ? 1 : 0)) {}

LaneRoute::LaneRoute(std::shared_ptr<const Listing> listing, std::uint64_t lane, std::uint64_t lanes,
                     std::vector<Visit> visits)
    : listing_(std::move(listing)),
      lane_(lane),
      lanes_(lanes),
      objects_(listing_->objects_of_lane(lane, lanes)),
      visits_(std::make_shared<const std::vector<Visit>>(std::move(visits))),
      at_(0) {}

ListedObject LaneRoute::object(std::uint64_t ordinal) const {
  ListedObject object = listing_->object_of_lane(lane_, lanes_, ordinal);
  const Visit* visit = this->visit(ordinal);
  if (visit == nullptr) return object;
  if (!visit->now) {
    object.size = 0;
    object.kind = ObjectKind::empty;
    return object;
  }
  object.etag = visit->now->etag;
  object.size = visit->now->size;
  object.last_modified = visit->now->last_modified;
  object.kind = visit->now->kind;
  return object;
}

const Visit* LaneRoute::visit(std::uint64_t ordinal) const {
  if (!visits_) return nullptr;
  const auto visit = std::ranges::lower_bound(*visits_, ordinal, {}, ordinal_of);
  return visit != visits_->end() && visit->was.ordinal == ordinal ? &*visit : nullptr;
}

std::uint64_t LaneRoute::written() const {
  if (visits_) return (*visits_)[at_].written();
  return start_.ordinal == at_ && !start_.object_complete() ? start_.index : 0;
}

std::uint64_t LaneRoute::bytes_passed() const {
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < at_; ++i) bytes += object(visits_ ? (*visits_)[i].was.ordinal : i).size;
  return bytes;
}

std::optional<ListedObject> LaneRoute::after(std::uint64_t passed) const {
  if (passed >= end()) return std::nullopt;
  return object(visits_ ? (*visits_)[passed].was.ordinal : passed);
}

std::vector<LaneRoute> routes_from(const std::shared_ptr<const Listing>& listing, const std::vector<Position>& starts) {
  std::vector<LaneRoute> routes;
  routes.reserve(starts.size());
  for (std::uint64_t lane = 0; lane < starts.size(); ++lane) {
    routes.emplace_back(listing, lane, starts.size(), starts[lane]);
  }
  return routes;
}

std::vector<LaneRoute> routes_to(const std::shared_ptr<const Listing>& listing,
                                 std::vector<std::vector<Visit>> visits) {
  std::vector<LaneRoute> routes;
  routes.reserve(visits.size());
  for (std::uint64_t lane = 0; lane < visits.size(); ++lane) {
    routes.emplace_back(listing, lane, visits.size(), std::move(visits[lane]));
  }
  return routes;
}

}  // namespace millrace::s3_source
