// SPDX-License-Identifier: Apache-2.0
// An object written in parts: begun, given its parts in any order and number, and completed or aborted. Nothing of it
// is an object before it is complete, and what is never ended lies about and is paid for. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/store/etag.h"
#include "millrace/store/write_options.h"

#pragma GCC visibility push(default)
namespace millrace {

struct UploadRequest {
  std::string key{};
  std::string content_type{};
  std::string content_encoding{};
  std::vector<std::pair<std::string, std::string>> metadata{};  ///< user metadata, lower-case names without x-amz-meta-
  std::optional<Duration> timeout{};                            ///< of this request; the store's own default otherwise
  ObjectSettings settings{};
  ChecksumKind checksum = ChecksumKind::none;  ///< of each part: sent along, and compared with what the store says
};

/// An upload that has begun. All that is needed to go on with it or to end it: also from another process, where the
/// store keeps an upload that long (a file store counts the uploads of an ended process as leftovers).
struct UploadId {
  std::string key{};
  std::string id{};                            ///< the store's own, opaque
  ChecksumKind checksum = ChecksumKind::none;  ///< as it was begun
  friend bool operator==(const UploadId&, const UploadId&) = default;
};

/// A part that the store has. Needed to complete the upload.
struct PartResult {
  int number = 0;          ///< from 1 on
  std::uint64_t size = 0;  ///< bytes
  ETag etag;
  std::string checksum{};  ///< of the kind the upload was begun with; empty without one
  friend bool operator==(const PartResult&, const PartResult&) = default;
};

struct ListUploadsRequest {
  std::string prefix{};            ///< a string, not a folder
  std::string continuation{};      ///< opaque token of the page before; empty for the first page
  std::size_t max_uploads = 1000;  ///< the store may give fewer
};
struct UploadInfo {
  UploadId upload;  ///< which checksum it was begun with is not told
  UnixMicros initiated = kNoTimestamp;
};
struct UploadPage {
  std::vector<UploadInfo> uploads;
  std::string continuation;  ///< empty on the last page
};

}  // namespace millrace
#pragma GCC visibility pop
