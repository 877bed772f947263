// SPDX-License-Identifier: Apache-2.0
// LaneRoute: which objects a lane visits, in their order, and what they are. All of them from a start on, as listed; a
// retry goes to those alone that were set aside, as they are now. Ordinals, hence offsets, are the same either way. A
// value that is a cursor too; copies share what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"

namespace millrace::s3_source {

/// An object that was set aside, to be read again.
struct Visit {
  struct Version {
    std::string etag;
    std::uint64_t size = 0;
    UnixMicros last_modified = kNoTimestamp;
    ObjectKind kind = ObjectKind::data;
  };
  QuarantinedObject was;
  std::optional<Version> now;  ///< nothing: it is not listed any more

  /// Records that are written already and are counted off. Those of an earlier retry only when it read this version.
  [[nodiscard]] std::uint64_t written() const;
};

/// Of every lane, rising: each object that is set aside, with what `now`, the listing of this run, says of it.
[[nodiscard]] std::vector<std::vector<Visit>> visits_of(const Quarantine& quarantine, const Listing& now,
                                                        std::uint64_t lanes);

class LaneRoute {
 public:
  /// `listing` is the one that the deal goes by.
  LaneRoute(std::shared_ptr<const Listing> listing, std::uint64_t lane, std::uint64_t lanes, Position start);
  LaneRoute(std::shared_ptr<const Listing> listing, std::uint64_t lane, std::uint64_t lanes, std::vector<Visit> visits);

  [[nodiscard]] bool at_end() const noexcept { return at_ == end(); }
  /// Requires that it is not at its end, as all below.
  [[nodiscard]] std::uint64_t ordinal() const { return visits_ ? (*visits_)[at_].was.ordinal : at_; }
  [[nodiscard]] ListedObject object() const { return object(ordinal()); }
  /// Of a retry; else null.
  [[nodiscard]] const Visit* visit() const { return visits_ ? &(*visits_)[at_] : nullptr; }
  void next() noexcept { ++at_; }
  /// Above every ordinal.
  static constexpr std::uint64_t kEnd = kMaxObjectsPerLane;
  [[nodiscard]] std::uint64_t ordinal_or_end() const { return at_end() ? kEnd : ordinal(); }
  /// The last of the objects from the cursor on that are all `like` the first, which is.
  template <class Like>
  [[nodiscard]] std::uint64_t last_of_run(const Like& like) const {
    LaneRoute at = *this;
    std::uint64_t last = at.ordinal();
    for (at.next(); !at.at_end() && like(at); at.next()) last = at.ordinal();
    return last;
  }

  /// Any object of it, wherever the cursor is.
  [[nodiscard]] ListedObject object(std::uint64_t ordinal) const;
  [[nodiscard]] const Visit* visit(std::uint64_t ordinal) const;
  /// Records of the object at its start that are written already.
  [[nodiscard]] std::uint64_t written() const;
  [[nodiscard]] bool is_retry() const noexcept { return visits_ != nullptr; }

  // For whoever shows how far it is.
  /// Objects from the beginning to the end of it, and of these those before the cursor.
  [[nodiscard]] std::uint64_t length() const noexcept { return end(); }
  [[nodiscard]] std::uint64_t passed() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t bytes_passed() const;
  /// The object that so many stand before; nothing behind the last.
  [[nodiscard]] std::optional<ListedObject> after(std::uint64_t passed) const;

 private:
  [[nodiscard]] std::uint64_t end() const noexcept { return visits_ ? visits_->size() : objects_; }

  std::shared_ptr<const Listing> listing_;
  std::uint64_t lane_;
  std::uint64_t lanes_;
  std::uint64_t objects_;
  Position start_;
  std::shared_ptr<const std::vector<Visit>> visits_;  // null: all objects
  std::uint64_t at_;                                  // the ordinal, or the place in visits_
};

/// One for each start.
[[nodiscard]] std::vector<LaneRoute> routes_from(const std::shared_ptr<const Listing>& listing,
                                                 const std::vector<Position>& starts);
[[nodiscard]] std::vector<LaneRoute> routes_to(const std::shared_ptr<const Listing>& listing,
                                               std::vector<std::vector<Visit>> visits);

}  // namespace millrace::s3_source
