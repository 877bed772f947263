// SPDX-License-Identifier: Apache-2.0
// LaneProgress: how far a lane is, written by the lane once per batch, read by anybody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "connectors/s3/quarantine.h"
#include "connectors/s3/receipt.h"
#include "millrace/base/sync.h"

namespace millrace::s3_source {

/// Objects that a lane left out, on their way to the manifest: they belong there once the position is behind them.
class SkippedOrdinals {
 public:
  void add(std::uint64_t ordinal) {
    const MutexLock lock(mutex_);
    ordinals_.push_back(ordinal);
  }
  /// Those before `end`, once.
  [[nodiscard]] std::vector<std::uint64_t> take_before(std::uint64_t end) {
    const MutexLock lock(mutex_);
    const auto behind = std::ranges::lower_bound(ordinals_, end);
    std::vector<std::uint64_t> taken(ordinals_.begin(), behind);
    ordinals_.erase(ordinals_.begin(), behind);
    return taken;
  }

 private:
  Mutex mutex_;
  std::vector<std::uint64_t> ordinals_ MILLRACE_GUARDED_BY(mutex_);  // rising
};

/// Objects that a lane set aside, on their way to the manifest: they belong there once the watermark is behind the
/// first record that was not delivered. Noted before the acks of what is behind it are let go.
class ObjectsSetAside {
 public:
  void add(QuarantinedObject object) {
    const MutexLock lock(mutex_);
    objects_.push_back(std::move(object));
  }
  /// Those that belong in the manifest with `watermark`, once.
  [[nodiscard]] Quarantine take_behind(Watermark watermark) {
    const MutexLock lock(mutex_);
    const auto behind = std::ranges::lower_bound(
        objects_, watermark, {}, [](const QuarantinedObject& object) { return watermark_of(object.position()); });
    Quarantine taken(std::move_iterator(objects_.begin()), std::move_iterator(behind));
    objects_.erase(objects_.begin(), behind);
    return taken;
  }
  [[nodiscard]] std::uint64_t size() const {
    const MutexLock lock(mutex_);
    return objects_.size();
  }

 private:
  mutable Mutex mutex_;
  Quarantine objects_ MILLRACE_GUARDED_BY(mutex_);  // rising
};

/// What the receipt says of objects that were read to their end, on the way to it.
class FactsOnTheWay {
 public:
  void add(const ObjectFacts& facts) {
    const MutexLock lock(mutex_);
    facts_.push_back(facts);
  }
  [[nodiscard]] std::vector<ObjectFacts> take() {
    const MutexLock lock(mutex_);
    return std::exchange(facts_, {});
  }

 private:
  Mutex mutex_;
  std::vector<ObjectFacts> facts_ MILLRACE_GUARDED_BY(mutex_);
};

struct LaneProgress {
  Atomic<std::uint64_t> objects_done{0};     ///< the lane is behind them; those of earlier runs included
  Atomic<std::uint64_t> objects_skipped{0};  ///< of them, those that this run left out, as on_archived: skip asks
  SkippedOrdinals skipped;
  ObjectsSetAside set_aside;
  FactsOnTheWay facts;                  ///< only where a receipt was asked for
  Atomic<std::uint64_t> bytes_done{0};  ///< stored bytes of them and of the object being read
};

}  // namespace millrace::s3_source
