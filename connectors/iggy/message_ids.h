// SPDX-License-Identifier: Apache-2.0
// MessageIds: an id for each message that is the same whenever the same record is sent, by which a server that
// deduplicates knows it. One writer's, on its thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"
#include "millrace/record/record_meta.h"

namespace millrace::iggy_sink {

/// Made of the pipeline's name, the lineage, partition and offset of the record, which of the records of that offset it
/// is, and its bytes: two messages that say different things never share one, and none is dropped for another. Where a
/// source has no lineage the same offset may be another record in the next run: ids then hold for one run.
class MessageIds {
 public:
  MessageIds(std::string pipeline, Random& random);

  /// What follows are the records of one chunk, in their order, all of them: a chunk holds whole source records.
  void begin(PartitionId partition, const Origin* origin);
  [[nodiscard]] iggy::MessageId next(Offset offset, std::string_view value);

 private:
  const std::string pipeline_;
  const std::uint64_t run_;
  iggy::MessageId chunk_;  ///< of what all records of the chunk share
  std::optional<Offset> offset_;
  std::uint64_t index_ = 0;  ///< among the records of offset_
};

}  // namespace millrace::iggy_sink
