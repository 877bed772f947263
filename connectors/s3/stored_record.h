// SPDX-License-Identifier: Apache-2.0
// StoredRecord: an object that we have written, as the manifest and what it names pin it: kept listing, parts of a
// receipt, the receipt. And how such objects are written and read back. Blocking where a store is named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

struct StoredRecord {
  std::string name;         ///< behind the folder of its url; empty: there is none (yet)
  std::uint64_t bytes = 0;  ///< as it is stored
  std::uint64_t hash = 0;   ///< XXH3 of these bytes
  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

/// "a/backfill.json" is in "a/"; "" when there is no slash.
[[nodiscard]] std::string_view folder_of(std::string_view key);
/// "a/backfill.json" and "listing.zst" make "a/backfill.listing.zst".
[[nodiscard]] std::string key_beside(std::string_view manifest_key, std::string_view suffix);

/// Writes `body` over whatever lies at `key`. One try, which `timeout` bounds, and a second more for each MiB. Errors
/// are the store's.
[[nodiscard]] Result<StoredRecord> put_record(ObjectStore& store, const std::string& key, std::string_view body,
                                              std::string content_type, Duration timeout);
/// The bytes that `record` names, and no others. Fails (manifest when it is gone or another's, else as the store does),
/// saying what is wrong as the end of a sentence that begins with the object: "is gone".
[[nodiscard]] Result<std::string> get_record(ObjectStore& store, const std::string& key, const StoredRecord& record,
                                             Duration timeout);

}  // namespace millrace::s3_source
