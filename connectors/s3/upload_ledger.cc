// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/upload_ledger.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "connectors/s3/json_fields.h"
#include "millrace/base/printable.h"

namespace millrace::s3_sink {
namespace {

constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::uint64_t kVersion = 1;

}  // namespace

std::string UploadLedger::to_json(const std::vector<UploadId>& uploads) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const UploadId& upload : uploads) {
    list.push_back({{"key", s3_source::bytes_json(upload.key)}, {"id", s3_source::bytes_json(upload.id)}});
  }
  return nlohmann::ordered_json{{"version", kVersion}, {"uploads", std::move(list)}}.dump() + "\n";
}

Result<std::vector<UploadId>> UploadLedger::from_json(std::string_view text) {
  MILLRACE_ASSIGN(const auto json, s3_source::parse_json(text, "a list of uploads"));
  s3_source::Fields fields(json, "", "list of uploads");
  std::uint64_t version = 0;
  fields.number("version", version);
  if (!fields.failed() && version != kVersion) fields.set("version", fmt::format("is {}, not {}", version, kVersion));
  std::vector<UploadId> uploads;
  fields.each("uploads", [&](const s3_source::Json& item, std::string path) {
    s3_source::Fields one(item, std::move(path), "list of uploads");
    UploadId upload;
    one.bytes("key", upload.key);
    one.bytes("id", upload.id);
    if (auto done = one.done(); !done) return fields.keep(std::move(done).error());
    uploads.push_back(std::move(upload));
  });
  MILLRACE_TRY(fields.done());
  return uploads;
}

std::string UploadLedger::slot_of(std::string_view stream, std::string_view topic, PartitionId partition) {
  std::string name(stream);
  name += '\0';
  name += topic;
  return fmt::format("{:016x}-{:05}", XXH3_64bits(name.data(), name.size()), partition.value());
}

std::string UploadLedger::key_of(const std::string& slot) const {
  return fmt::format("{}uploads-{}.json", folder_, slot);
}

Result<void> UploadLedger::settle(const std::string& slot) {
  const MutexLock lock(mutex_);
  return settle_locked(slot);
}

Result<void> UploadLedger::settle_locked(const std::string& slot) {
  Slot& known = slots_[slot];
  if (known.settled) return {};
  const std::string key = key_of(slot);
  auto document = store_->get(key, kMostBytes);
  if (!document && document.error().is_retryable()) return fail(std::move(document).error());
  known.settled = true;
  if (!document && document.error().code() == ErrorCode::not_found) return {};
  auto left = document ? from_json(document->bytes) : Result<std::vector<UploadId>>(fail(document.error()));
  if (!left) {
    if (!std::exchange(warned_, true)) {
      log_.warn(
          "uploads in parts that an earlier run may have left cannot be looked up; a lifecycle rule of the bucket "
          "ends them too",
          {{"object", printable_key(key)}, {"error", left.error().describe()}});
    }
    return {};
  }
  known.noted = true;
  for (const UploadId& upload : *left) {
    auto aborted = store_->abort_upload(upload);
    if (aborted) continue;
    if (aborted.error().is_retryable()) {
      known.settled = false;
      return aborted;
    }
    log_.warn("an upload in parts that an earlier run left could not be aborted",
              {{"object", printable_key(upload.key)},
               {"noted in", printable_key(key)},
               {"error", aborted.error().describe()}});
  }
  return {};
}

Result<void> UploadLedger::add(const std::string& slot, const UploadId& upload) {
  const MutexLock lock(mutex_);
  // Otherwise what it holds would be overwritten unread.
  MILLRACE_TRY(settle_locked(slot));
  Slot& known = slots_[slot];
  known.noted = true;
  if (std::ranges::find(known.open, upload) == known.open.end()) known.open.push_back(upload);
  const std::string text = to_json(known.open);
  auto put =
      store_->put({.key = key_of(slot), .body = text, .content_type = "application/json", .settings = settings_});
  if (!put) return fail(std::move(put).error().prefixed("noting an upload in parts, so that a crash leaves none: "));
  return {};
}

void UploadLedger::clear() {
  const MutexLock lock(mutex_);
  for (auto& [slot, known] : slots_) {
    if (!known.noted || !known.open.empty()) continue;
    // Without the right to, they stay: a few small objects that the next run reads.
    std::ignore = store_->remove(key_of(slot));
  }
}

void UploadLedger::forget(const std::string& slot, const UploadId& upload) {
  const MutexLock lock(mutex_);
  std::erase(slots_[slot].open, upload);
}

}  // namespace millrace::s3_sink
