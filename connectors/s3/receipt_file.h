// SPDX-License-Identifier: Apache-2.0
// ReceiptFile: a receipt on its way, as parts beside the manifest, and at the end as one object
// (docs/formats/receipt.md). Only the owner of the manifest writes. Blocks; one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/manifest.h"
#include "connectors/s3/receipt.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// What the key of every part begins with, beside this manifest.
[[nodiscard]] std::string receipt_part_front(std::string_view manifest_key);

class ReceiptFile {
 public:
  struct Options {
    std::string manifest_key;
    std::string manifest_url;  ///< for messages
    std::string key;           ///< of the receipt, in `store`
    std::string url;           ///< for messages
    std::string pipeline;
    std::string owner;  ///< id of this run in the manifest: one that is fenced must not write over another's parts
    Duration timeout = std::chrono::seconds(10);
  };
  /// `parts`: the manifest's store. `store`: where the receipt goes.
  ReceiptFile(std::shared_ptr<ObjectStore> parts, std::shared_ptr<ObjectStore> store, Options options)
      : parts_(std::move(parts)), store_(std::move(store)), options_(std::move(options)) {}

  /// Reads the last part, as the manifest names it, or the finished receipt, and goes on behind it. Returns what stands
  /// there of objects that are committed in part. Fails (manifest) when it is not what was written.
  [[nodiscard]] Result<std::vector<PartialReceipt>> resume(const ReceiptState& state);
  /// Behind resume(), for a retry: gathers all lines, whatever part they are in, and takes out those of objects that
  /// `again` says yes to, by key; they are returned, and missing from the next part on.
  [[nodiscard]] Result<std::vector<ObjectReceipt>> take_out(const std::function<bool(std::string_view key)>& again);
  /// Writes the next part: `lines` of objects, and what is counted of those that are committed in part. What is
  /// returned goes into the manifest; only then does the part count. One try.
  [[nodiscard]] Result<StoredRecord> write(std::string_view lines, std::vector<PartialReceipt> partial);
  /// The finished receipt as plain text. Fails (manifest) when it is not what was written.
  [[nodiscard]] Result<std::string> finished_text(const StoredRecord& finished) const {
    return read(*store_, finished, options_.key, options_.url);
  }
  /// The manifest that names the last part is saved: parts that it replaced are removed, where that can be.
  void saved();
  /// Puts all parts together, adds them up, and writes the receipt. Fails (internal) when it does not balance. One try.
  [[nodiscard]] Result<StoredRecord> finish(const Manifest& manifest);
  /// The manifest that names the finished receipt is saved: removes the parts, where that can be.
  void remove_parts();

 private:
  Result<std::string> read(ObjectStore& store, const StoredRecord& record, const std::string& key,
                           const std::string& url) const;
  Result<std::string> read_part(const StoredRecord& record) const;
  Result<void> reopen(const StoredRecord& finished);
  Result<std::vector<StoredRecord>> all_parts() const;
  [[nodiscard]] std::string part_name(std::uint64_t number) const;
  [[nodiscard]] std::string part_key(std::string_view name) const;

  const std::shared_ptr<ObjectStore> parts_;
  const std::shared_ptr<ObjectStore> store_;
  const Options options_;
  ReceiptPart head_;                    // of the last part
  StoredRecord last_;                   // as the manifest names it; no name: there is none yet
  std::string tail_;                    // the object lines of the last part while it is small
  bool tail_known_ = true;              // false: the last part is large and is followed
  std::vector<std::string> replaced_;   // parts that nothing will name once the manifest is saved
  std::vector<StoredRecord> finished_;  // parts that went into the receipt
};

}  // namespace millrace::s3_source
