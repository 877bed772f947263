// SPDX-License-Identifier: Apache-2.0
// Recall: what a destination that writes exactly once knows of a partition's earlier runs, by offset. A lane asks for
// it before its first record, leaves out what is durable already, and makes a file whose end is not known once more,
// with the same first and last record, so that its key and its bytes are the same whoever writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/error.h"
#include "millrace/base/ids.h"
#include "millrace/base/sync.h"
#include "millrace/encode/encoded_chunk.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// A value.
struct Recall {
  /// Of `series`, every record up to and with `through` is durable.
  struct Durable {
    FileSeries series;
    Offset through;
  };
  /// A file that an earlier run began to write; whether it came to be, or will yet, nobody knows.
  struct Unsettled {
    FileSeries series;
    Offset first;
    Offset last;
  };
  Offset floor{0};  ///< every record before it is durable, or was dropped on purpose
  std::vector<Durable> durable;
  std::vector<Unsettled> unsettled;  ///< at most one of a series, behind what is durable of it
  UnixMicros latest = kNoTimestamp;  ///< no record up to reaches() has a later time; kNoTimestamp: not known
  std::string note;                  ///< where this is noted, for messages

  /// To be called once all is in it, before has().
  void arrange();
  /// The record at `offset` is in a durable file, or needs none. Requires arrange().
  [[nodiscard]] bool has(std::int64_t bucket, std::string_view route, Offset offset) const noexcept;
  /// The file that a record at `first` begins again; null when it is none of these.
  [[nodiscard]] const Unsettled* to_be_made(const FileSeries& series, Offset first) const noexcept;
  /// Nothing is known of records behind this one. A look at everything: asked once.
  [[nodiscard]] Offset reaches() const noexcept;
  /// Why a record at `meta.offset`, up to reaches(), is another one than that of the earlier run: it came later than
  /// all of those. Nothing: it may be that one.
  [[nodiscard]] std::optional<Error> contradicted_by(const RecordMeta& meta) const;
};

/// A lane's question. Made by the lane, answered once by the I/O thread that writes its partition; shared by both.
class RecallRequest {
 public:
  RecallRequest(PartitionId of, Offset first, std::shared_ptr<const Origin> batch_origin, Waker lane)
      : partition(of), from(first), origin(std::move(batch_origin)), lane_(std::move(lane)) {}

  const PartitionId partition;
  const Offset from;  ///< of the first record that comes: the source has committed what lies before it
  const std::shared_ptr<const Origin> origin;  ///< of the lane's first batch; null when that has none

  /// I/O thread, once.
  void answer(Recall recall) {
    answer_ = std::move(recall);
    answered_.store(true, memory_order_release);
    lane_.wake();
  }
  /// The lane's thread.
  [[nodiscard]] bool answered() const noexcept { return answered_.load(memory_order_acquire); }
  /// Requires answered().
  [[nodiscard]] Recall take() {
    answer_.arrange();
    return std::move(answer_);
  }

 private:
  const Waker lane_;
  Recall answer_;
  Atomic<bool> answered_{false};
};

}  // namespace millrace
#pragma GCC visibility pop
