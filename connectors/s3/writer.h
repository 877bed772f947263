// SPDX-License-Identifier: Apache-2.0
// ObjectWriter: one sealed batch, one object, one PUT; a large one goes in parts. Belongs to one I/O thread; cancel()
// may come from any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "connectors/s3/commit_book.h"
#include "connectors/s3/converted_file.h"
#include "connectors/s3/parts_upload.h"
#include "connectors/s3/upload.h"
#include "millrace/base/sync.h"
#include "millrace/encode/columnar.h"
#include "millrace/sink/writer.h"

namespace millrace::s3_sink {

class ObjectWriter final : public Writer {
 public:
  explicit ObjectWriter(std::shared_ptr<Upload> upload) : upload_(std::move(upload)), parts_(upload_) {
    if (upload_->commits) commits_.emplace(upload_);
  }

  [[nodiscard]] Result<Receipt> write(SealedBatch& batch) override;
  /// A marker, `<key>.lost`, beside where the object would be: which offsets, how many records, why.
  [[nodiscard]] Result<void> lost(SealedBatch& batch, const Error& error) override;
  [[nodiscard]] Result<Recall> recall(PartitionId partition, Offset from, const Origin* origin) override;
  [[nodiscard]] Result<void> close(SteadyTime deadline) override;
  void cancel() override {
    cancelled_.store(true, memory_order_relaxed);
    upload_->store->cancel_all();
  }

 private:
  [[nodiscard]] Result<std::string> key_of(SealedBatch& batch) const;
  [[nodiscard]] Result<std::string_view> body_of(SealedBatch& batch);
  [[nodiscard]] Result<std::string_view> in_columns(SealedBatch& batch);
  [[nodiscard]] Result<void> put(const std::string& key, std::string_view body, PutCondition condition);
  [[nodiscard]] Result<void> put_whole(const std::string& key, std::string_view body, PutCondition condition) const;
  [[nodiscard]] Result<void> create(const std::string& key, std::string_view body, bool tried_before);
  [[nodiscard]] Result<void> settle_taken(const std::string& key, std::string_view body, bool may_be_ours);
  [[nodiscard]] Result<void> create_unguarded(const std::string& key, std::string_view body, bool tried_before);

  std::shared_ptr<Upload> upload_;
  PartsUpload parts_;
  std::optional<CommitBook> commits_;  ///< of a sink that keeps commit objects
  /// Of a sink whose files are in columns: who makes them, and the one whose tries have not ended.
  std::unique_ptr<ColumnarConverter> converter_;
  std::optional<std::pair<IdempotencyToken, ConvertedFile>> converted_;
  Atomic<bool> cancelled_{false};
  std::string slot_;  ///< of the batch being written, in the ledger
  /// The batch whose last try ended without an answer: what lies under its key may be its own bytes.
  std::optional<IdempotencyToken> unanswered_;
  bool refused_while_absent_ = false;  ///< the last try was refused although nothing was there
};

}  // namespace millrace::s3_sink
