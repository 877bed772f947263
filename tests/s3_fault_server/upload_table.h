// SPDX-License-Identifier: Apache-2.0
// UploadTable: the uploads in parts that the fault server has begun, by S3's rules. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/sync.h"
#include "tests/s3_fault_server/object_table.h"

namespace millrace::testing {

/// What S3 and its likes want of parts.
struct PartRules {
  std::uint64_t least_bytes = 0;  ///< of every part but the last; S3's own rule is 5,242,880
  bool equal_sizes = false;       ///< all but the last are of one size, as some stores want it
  int most_parts = 10'000;
};

struct UploadedPart {
  std::string bytes;
  std::string etag;  ///< the quoted MD5
};
struct BegunUpload {
  std::string id;
  std::string bucket;
  std::string key;
  StoredObject object;             ///< what it is to be, without bytes
  std::string checksum_algorithm;  ///< as the request says it: "CRC32C"; empty: none
  std::map<int, UploadedPart> parts;
};

/// A part as the request that ends an upload names it.
struct NamedPart {
  int number = 0;
  std::string etag;
};
/// An error of S3.
struct UploadRefusal {
  int status = 0;
  const char* code = "";
  const char* message = "";
};

class UploadTable {
 public:
  explicit UploadTable(PartRules rules) : rules_(rules) {}

  [[nodiscard]] std::string begin(BegunUpload upload);
  std::optional<UploadRefusal> put_part(std::string_view id, std::string_view key, int number, UploadedPart part);
  /// The object that the parts make; the upload is still there, since the object may be refused.
  std::optional<UploadRefusal> join(std::string_view id, std::string_view key, const std::vector<NamedPart>& parts,
                                    BegunUpload& out) const;
  /// False when there is none.
  bool end(std::string_view id, std::string_view key);
  /// As a lifecycle rule does it; an empty key: all. How many there were.
  std::size_t end_all(std::string_view bucket, std::string_view key);
  /// In the order of key and id, which is the order of S3's listing.
  [[nodiscard]] std::vector<BegunUpload> uploads(std::string_view bucket) const;

 private:
  const PartRules rules_;
  mutable Mutex mutex_;
  std::map<std::string, BegunUpload, std::less<>> uploads_ MILLRACE_GUARDED_BY(mutex_);
  std::uint64_t begun_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::testing
