// SPDX-License-Identifier: Apache-2.0
// PartsUpload: one object sent in parts, over as many tries as it takes: a part that the store has is not sent again.
// Belongs to one writer, on its I/O thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/upload.h"
#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "millrace/store/part_plan.h"

namespace millrace::s3_sink {

class PartsUpload {
 public:
  explicit PartsUpload(std::shared_ptr<Upload> upload) : upload_(std::move(upload)) {}

  /// Goes on where the last try of the same object stopped. Success means durable. An upload that is gone is no loss:
  /// the object may be there, since only the answer was; else the next try begins anew.
  [[nodiscard]] Result<void> put(const std::string& key, std::string_view body, PutCondition condition,
                                 const std::string& slot);
  /// Aborts what was begun and is not complete: its object is given up, or there already.
  void drop();
  [[nodiscard]] bool begun() const noexcept { return begun_.has_value(); }

 private:
  [[nodiscard]] Result<void> begin(const std::string& key, std::string_view body);
  [[nodiscard]] Result<void> send(std::string_view body);
  [[nodiscard]] Result<void> gone(const std::string& key, std::string_view body, const Error& error);

  std::shared_ptr<Upload> upload_;
  std::optional<UploadId> begun_;
  std::string slot_;  ///< of the ledger
  bool recorded_ = false;
  std::vector<PartResult> parts_;
};

}  // namespace millrace::s3_sink
