// SPDX-License-Identifier: Apache-2.0
// What travels beside a record: where it came from and when. Views; valid as long as the batch it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"
#include "millrace/record/columns.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Where the records of a batch come from. One per object (or per topic partition), shared by its batches; immutable.
struct Origin {
  std::string stream;  ///< for sources without streams: the pipeline's name, which keys may be made of
  std::string topic;   ///< for sources without topics: the source's name
  std::string bucket;  ///< empty unless the source reads objects
  std::string object;  ///< the object's key, byte for byte; empty unless the source reads objects
  std::string etag;    ///< as the store gave it; may be empty
  UnixMicros last_modified = kNoTimestamp;
  /// Names what the offsets count: under another one the same offset is another record. The same for a lane's whole
  /// life; empty where the source names none.
  std::string lineage;
  Offset first_offset;  ///< of the object's first record: a record's index in its object is offset - first_offset
  std::shared_ptr<const Columns> columns;  ///< of records that are rows of the object; null for others
  /// The partition's number as `topic` counts, where a source of several topics gives it another PartitionId.
  std::optional<PartitionId> partition;
};

struct Header {
  std::string_view name;
  std::string_view value;
};

/// One record's coordinates, by value and by view. Cheap to make; nothing in it is owned.
struct RecordMeta {
  PartitionId partition;
  Offset offset;
  UnixMicros timestamp = kNoTimestamp;
  std::string_view key;  ///< empty and has_key == false when there is none
  bool has_key = false;
  const Header* headers = nullptr;
  std::size_t header_count = 0;
  const Origin* origin = nullptr;  ///< null when the source has none

  /// What people are shown beside the topic; `partition` is what the engine tells partitions apart by.
  [[nodiscard]] PartitionId partition_of_topic() const noexcept {
    return origin != nullptr && origin->partition ? *origin->partition : partition;
  }
};

}  // namespace millrace
#pragma GCC visibility pop
