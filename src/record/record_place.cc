// SPDX-License-Identifier: Apache-2.0
#include "millrace/record/record_place.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace {

std::string partition_place(PartitionId partition, const Origin* origin) {
  const PartitionId shown = origin == nullptr ? partition : origin->partition.value_or(partition);
  std::string place = fmt::format("partition {}", shown.value());
  if (origin != nullptr && !origin->stream.empty()) {
    place += " (" + printable(origin->stream) + (origin->topic.empty() ? "" : "/" + printable(origin->topic)) + ")";
  }
  return place;
}

std::string record_place(const RecordMeta& meta) {
  const Origin* origin = meta.origin;
  if (origin != nullptr && !origin->object.empty()) {
    const std::int64_t index = meta.offset.value() - origin->first_offset.value();
    const std::string object =
        printable_key(origin->bucket.empty() ? origin->object : origin->bucket + '/' + origin->object);
    return fmt::format("record {} of {} (partition {}, offset {})", index + 1, object,
                       meta.partition_of_topic().value(), meta.offset.value());
  }
  return fmt::format("offset {} of {}", meta.offset.value(), partition_place(meta.partition, origin));
}

}  // namespace millrace
