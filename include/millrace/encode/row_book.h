// SPDX-License-Identifier: Apache-2.0
// RowBook: which shape the rows of a sink have. Given, it is settled from the start. Else it is inferred: lanes widen
// it, each by what its records need, until a writer settles it, before the first file is converted. It only ever takes
// more, so what fitted an earlier shape fits every later one, and lanes look here only when a record does not fit.
// Shared by the lanes and writers of one sink. Thread-safe.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/encode/row_schema.h"

#pragma GCC visibility push(default)
namespace millrace {

class RowBook {
 public:
  /// One that is not settled begins without columns.
  explicit RowBook(RowShape shape) : shape_(std::make_shared<const RowShape>(std::move(shape))) {}

  [[nodiscard]] std::shared_ptr<const RowShape> shape() const {
    const MutexLock lock(mutex_);
    return shape_;
  }
  /// Lane: `to`, which widened() made of `from`, is the shape from now on. False when another one has come first: then
  /// there is shape() to begin from.
  [[nodiscard]] bool replace(const std::shared_ptr<const RowShape>& from, std::shared_ptr<const RowShape> to);
  /// Writer: no column comes to be added from now on.
  [[nodiscard]] std::shared_ptr<const RowShape> settle();
  /// An earlier run has settled on these. Before the first record.
  void settle_as(std::vector<Column> fields);

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const RowShape> shape_ MILLRACE_GUARDED_BY(mutex_);
};

/// `shape` with room for `record`, and `shape` itself when it is settled, or has that. What cannot be a column
/// (RowShape::unknown deals with it), and what is no JSON object, changes nothing.
[[nodiscard]] std::shared_ptr<const RowShape> widened(const std::shared_ptr<const RowShape>& shape,
                                                      std::string_view record);

}  // namespace millrace
#pragma GCC visibility pop
