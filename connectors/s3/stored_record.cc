// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/stored_record.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/rolling_hash.h"

namespace millrace::s3_source {
namespace {

/// They may be much larger than a manifest.
Duration long_enough(Duration timeout, std::uint64_t bytes) { return timeout + std::chrono::seconds(bytes >> 20U); }

Error wrong(std::string why) { return Error::fatal(ErrorCode::manifest, std::move(why)); }

}  // namespace

std::string_view folder_of(std::string_view key) { return key.substr(0, key.rfind('/') + 1); }

std::string key_beside(std::string_view manifest_key, std::string_view suffix) {
  if (manifest_key.ends_with(".json")) manifest_key.remove_suffix(5);
  return fmt::format("{}.{}", manifest_key, suffix);
}

Result<StoredRecord> put_record(ObjectStore& store, const std::string& key, std::string_view body,
                                std::string content_type, Duration timeout) {
  PutRequest request;
  request.key = key;
  request.body = body;
  request.content_type = std::move(content_type);
  request.timeout = long_enough(timeout, body.size());
  MILLRACE_TRY(store.put(request));
  return StoredRecord{key.substr(folder_of(key).size()), body.size(), hash_bytes(body)};
}

Result<std::string> get_record(ObjectStore& store, const std::string& key, const StoredRecord& record,
                               Duration timeout) {
  auto got = store.get(key, record.bytes, long_enough(timeout, record.bytes));
  if (!got) {
    switch (got.error().code()) {
      case ErrorCode::not_found:
        return fail(wrong("is gone"));
      case ErrorCode::too_large:
        return fail(wrong(
            fmt::format("has more than the {} bytes that were written: it is not this backfill's", record.bytes)));
      default:  // says nothing of the object
        return fail(Error(got.error().error_class(), got.error().code(),
                          fmt::format("cannot be read ({})", got.error().message())));
    }
  }
  const std::uint64_t hash = hash_bytes(got->bytes);
  if (got->bytes.size() != record.bytes || hash != record.hash) {
    return fail(
        wrong(fmt::format("is damaged or not this backfill's ({} bytes with hash {}, and {} with {} were "
                          "written)",
                          got->bytes.size(), to_hex(hash), record.bytes, to_hex(record.hash))));
  }
  return std::move(got->bytes);
}

}  // namespace millrace::s3_source
