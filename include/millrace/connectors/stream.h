// SPDX-License-Identifier: Apache-2.0
// What the sources over streams (Kafka, Iggy) share: where a partition begins, what is said when its kept position is
// gone, and its positions as metrics and for `millrace status`. Values and pure functions; StreamGauges belongs to the
// control thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/config/schema.h"
#include "millrace/metrics/meter.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Where a partition begins for which no position is kept. In YAML a word, or `{offset: 42}`, or
/// `{timestamp: 2026-07-01T12:00:00Z}`.
struct StreamStart {
  enum class Kind { earliest, latest, stored, offset, timestamp };
  Kind kind = Kind::earliest;
  Offset offset;                        ///< with `offset`
  UnixMicros timestamp = kNoTimestamp;  ///< with `timestamp`: the first record at or after it
};
template <>
struct OptionForm<StreamStart> {
  static std::string type() { return "earliest|latest|stored|{offset: N}|{timestamp: T}"; }
  static std::string text(const StreamStart& start);
  static void read(const ConfigSection& at, StreamStart& out, ConfigProblems& problems);
};

/// What becomes of a kept position whose record the broker no longer has, or does not have yet.
enum class OnPositionLost { fail, earliest, latest };
template <>
struct EnumNames<OnPositionLost> {
  static constexpr std::array<std::pair<std::string_view, OnPositionLost>, 3> names{
      {{"fail", OnPositionLost::fail}, {"earliest", OnPositionLost::earliest}, {"latest", OnPositionLost::latest}}};
};

/// What the broker holds of a partition now. Empty when first and end are the same number.
struct HeldRange {
  Offset first;
  Watermark end;  ///< one past the last record
};

/// "offsets 2 to 8"; of one that is empty, "nothing (its next offset is 5)".
[[nodiscard]] std::string to_string(HeldRange held);

struct StreamBeginning {
  Watermark from;                ///< the offset to fetch first, unless `at` says otherwise
  std::optional<UnixMicros> at;  ///< the connector asks the broker for the first record at or after this instant
  std::string notice;            ///< what is skipped or read again, for a warning; empty: nothing
};

/// Where to begin. `kept` is the position committed for the partition (one past the last record); `partition` names it
/// in messages ("topic 'orders', partition 3"). Fails (fatal) when the kept position is gone and `lost` says fail, when
/// nothing is kept and `start` says stored, or when start's offset is not held; each message has both numbers.
[[nodiscard]] Result<StreamBeginning> stream_beginning(std::optional<Watermark> kept, HeldRange held,
                                                       const StreamStart& start, OnPositionLost lost,
                                                       std::string_view partition);

/// Of a source of several topics: Origin::partition of the partitions of `topics[topic]`. Nothing for the first, whose
/// PartitionIds are its own numbers, and for all where two names of topics could look alike in an object's key, since
/// then the number alone tells their objects apart.
[[nodiscard]] std::optional<PartitionId> partition_of_topic(std::span<const std::string> topics, std::size_t topic,
                                                            std::uint32_t number);

/// Where a partition is. Negative: not known.
struct StreamPositions {
  std::int64_t begin = -1;      ///< where this process began to read it
  std::int64_t end = -1;        ///< one past the broker's last record
  std::int64_t fetched = -1;    ///< one past the last record handed to the pipeline
  std::int64_t durable = -1;    ///< one past the last record that is durable in every sink
  std::int64_t committed = -1;  ///< as the broker keeps it
  /// Records from the committed position, or from `begin` while nothing is committed, to the end; 0 when that is not
  /// known.
  [[nodiscard]] std::int64_t lag() const noexcept {
    const std::int64_t from = committed < 0 ? begin : committed;
    return end < 0 || from < 0 || from > end ? 0 : end - from;
  }
};

/// Where whoever reads a partition has come to, as the broker keeps it.
struct StreamStanding {
  std::string topic;
  std::int64_t number = 0;
  std::string named;                ///< for people: "orders[3]"
  std::optional<Watermark> stored;  ///< one past the last record that was read; nothing: none is stored
  Watermark end;                    ///< one past the broker's last record
};

/// What `millrace status` says of all partitions, for people or as one JSON document. `kind`: "group" or whatever else
/// reads by this `name`.
[[nodiscard]] std::string stream_status(std::string_view kind, std::string_view name,
                                        std::span<const StreamStanding> partitions, bool json);

/// etl_<connector>_lag_records and etl_<connector>_assigned_partitions always; with `per_partition` also
/// etl_<connector>_partition_{lag_records,end_offset,fetched_offset,durable_offset,committed_offset}, labelled topic
/// and partition. What is not known is not set. Control thread.
class StreamGauges {
 public:
  StreamGauges() = default;
  [[nodiscard]] static Result<StreamGauges> make(Meter meter, std::string connector, bool per_partition);
  /// Where an assigned partition is now.
  void set(std::string_view topic, std::int64_t partition, const StreamPositions& positions);
  /// The partition is no longer this process's: its lag counts no more, and its own series say NaN.
  void forget(std::string_view topic, std::int64_t partition);
  [[nodiscard]] std::int64_t lag() const noexcept { return lag_; }

 private:
  using Name = std::pair<std::string, std::int64_t>;
  struct Series {
    Gauge lag, end, fetched, durable, committed;
  };
  void publish();
  Series* series(const Name& name);

  Meter meter_;
  std::string connector_;
  bool per_partition_ = false;
  Gauge total_lag_;
  Gauge assigned_;
  std::int64_t lag_ = 0;
  std::map<Name, std::int64_t> lags_;  ///< of the assigned partitions
  std::map<Name, Series> series_;      ///< of every partition there ever was: a series is claimed once
};

}  // namespace millrace
#pragma GCC visibility pop
