// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/writer.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/content_match.h"
#include "millrace/base/printable.h"
#include "millrace/record/record_place.h"

namespace millrace::s3_sink {
namespace {

bool means_no_conditions(const Error& error) { return error.code() == ErrorCode::not_supported; }

Error needs_get(Error error) {
  if (error.code() != ErrorCode::permission_denied) return error;
  return std::move(error).prefixed(
      "the key is taken, and looking at what is there needs s3:GetObject (if_exists overwrite does without): ");
}

}  // namespace

Result<std::string> ObjectWriter::key_of(SealedBatch& batch) const {
  const EncodedChunk& chunk = batch.chunk;
  // A record without a time of its own counts from its arrival, which is the same over all tries.
  const bool has_time = chunk.first_timestamp != kNoTimestamp && upload_->time_source == TimeSource::message;
  if (upload_->exactly_once && !has_time && upload_->keys.pattern().tells_time()) {
    return fail(Error::fatal(
        ErrorCode::config,
        fmt::format(
            "the record at offset {} of {} has no time, so a replay would name its file by another one: delivery "
            "exactly_once needs a path_template without time variables here",
            chunk.first_offset.value(), partition_place(chunk.partition, chunk.origin.get()))));
  }
  const UnixMicros time = has_time ? chunk.first_timestamp : chunk.opened_unix;
  const bool has_uuid = upload_->keys.pattern().has(KeyPattern::Variable::uuid);
  const std::string uuid = has_uuid ? upload_->uuid_of(batch.token) : "";
  std::string content;
  if (batch.named_by_content) {
    MILLRACE_ASSIGN(const std::string_view body, batch.body());
    content = checksum(body);
  }
  return upload_->keys.render({chunk.origin.get(), upload_->pipeline, chunk.partition, chunk.first_offset,
                               chunk.last_offset, time, chunk.series.route, uuid, content});
}

/// What the object will be. Made once for all tries.
Result<std::string_view> ObjectWriter::body_of(SealedBatch& batch) {
  if (!upload_->columns) return batch.body();
  if (converted_ && converted_->first == batch.token) return converted_->second.body();
  converted_.reset();
  auto made = in_columns(batch);
  if (!made) converted_.reset();
  return made;
}

Result<std::string_view> ObjectWriter::in_columns(SealedBatch& batch) {
  MILLRACE_ASSIGN(const std::string_view lines, batch.body());
  if (!converter_) {
    MILLRACE_ASSIGN(converter_, upload_->columns->make_converter());
  }
  ConvertedFile& file = converted_.emplace(batch.token, upload_->columns->make_file()).second;
  MILLRACE_TRY(converter_->convert(lines, [&](std::string_view piece) -> Result<void> {
    if (cancelled_.load(memory_order_relaxed))
      return fail(Error::retryable(ErrorCode::cancelled, "the file was being put into columns"));
    file.append(piece);
    return {};
  }));
  return file.body();
}

Result<Receipt> ObjectWriter::write(SealedBatch& batch) {
  const EncodedChunk& chunk = batch.chunk;
  MILLRACE_ASSIGN(const std::string key, key_of(batch));
  MILLRACE_ASSIGN(const std::string_view body, body_of(batch));
  if (upload_->ledger) {
    const Origin* origin = chunk.origin.get();
    slot_ = UploadLedger::slot_of(origin != nullptr ? origin->stream : upload_->pipeline,
                                  origin != nullptr ? origin->topic : "", chunk.partition);
    if (upload_->expects_parts) MILLRACE_TRY(upload_->ledger->settle(slot_));
  }
  const bool tried_before = unanswered_ == batch.token;
  if (!tried_before) {
    refused_while_absent_ = false;
    parts_.drop();
  }
  CommittedFile noted;
  if (commits_) {
    noted = {chunk.series, chunk.first_offset, chunk.last_offset, key, body.size(), checksum(body)};
    MILLRACE_TRY(commits_->intend(chunk.partition, noted, chunk.read_until));
  }
  auto written =
      upload_->if_exists == IfExists::overwrite ? put(key, body, PutCondition::none) : create(key, body, tried_before);
  if (written || !written.error().is_retryable()) parts_.drop();
  if (!written) {
    unanswered_ = batch.token;
    // A store's own words may begin so already.
    const std::string doing = fmt::format("writing {}: ", printable_key(upload_->location(key)));
    if (written.error().message().find(doing) != std::string::npos) return fail(std::move(written).error());
    return fail(std::move(written).error().prefixed(doing));
  }
  unanswered_.reset();
  Receipt receipt{upload_->location(key), body.size()};
  converted_.reset();
  if (commits_) commits_->done(chunk.partition, noted);
  return receipt;
}

// What the connector that this one replaces writes, byte for byte: three lines.
Result<void> ObjectWriter::lost(SealedBatch& batch, const Error& error) {
  const EncodedChunk& chunk = batch.chunk;
  MILLRACE_ASSIGN(const std::string key, key_of(batch));
  const std::string marker = key + ".lost";
  const std::string text =
      fmt::format("offset_range: {}-{}\nmessage_count: {}\nerror: {}\n", chunk.first_offset.value(),
                  chunk.last_offset.value(), chunk.records, printable(error.message()));
  auto put = upload_->store->put({.key = marker,
                                  .body = text,
                                  .condition = PutCondition::none,
                                  .content_type = "text/plain; charset=utf-8",
                                  .settings = upload_->as.of_notes(),
                                  .checksum = upload_->as.checksum});
  if (!put) {
    return fail(std::move(put).error().prefixed(fmt::format("writing {}: ", printable_key(upload_->location(marker)))));
  }
  return {};
}

Result<Recall> ObjectWriter::recall(PartitionId partition, Offset from, const Origin* origin) {
  return commits_ ? commits_->recall(partition, from, origin) : Recall();
}

Result<void> ObjectWriter::close(SteadyTime /*deadline*/) {
  parts_.drop();
  return {};
}

Result<void> ObjectWriter::put(const std::string& key, std::string_view body, PutCondition condition) {
  auto done =
      upload_->in_parts(body.size()) ? parts_.put(key, body, condition, slot_) : put_whole(key, body, condition);
  // A store that knows nothing of uploads, unless it is the condition that it does not know.
  if (!done && done.error().code() == ErrorCode::not_supported && upload_->in_parts(body.size()) && !parts_.begun() &&
      body.size() <= kMostPartBytes) {  // one request takes no more than a part may have
    if (upload_->multipart.exchange(false)) {
      upload_->log.warn("the store takes no uploads in parts; every object goes in one request",
                        {{"error", done.error().message()}});
    }
    done = put_whole(key, body, condition);
  }
  if (!done) return done;
  upload_->objects.add();
  upload_->bytes.add(body.size());
  return {};
}

Result<void> ObjectWriter::put_whole(const std::string& key, std::string_view body, PutCondition condition) const {
  MILLRACE_TRY(upload_->store->put({.key = key,
                                    .body = body,
                                    .condition = condition,
                                    .content_type = upload_->as.content_type,
                                    .content_encoding = upload_->as.content_encoding,
                                    .metadata = upload_->metadata_of(body),
                                    .settings = upload_->as.settings,
                                    .checksum = upload_->as.checksum}));
  return {};
}

/// Makes the object unless its key is taken; by somebody else, that is.
Result<void> ObjectWriter::create(const std::string& key, std::string_view body, bool tried_before) {
  if (!upload_->conditions.load(memory_order_relaxed)) return create_unguarded(key, body, tried_before);
  // A body in parts is sent before the store says that the key is taken, so one look goes first, where it is allowed.
  if (upload_->in_parts(body.size()) && !parts_.begun() && upload_->store->head(key)) {
    return settle_taken(key, body, upload_->if_exists == IfExists::verify || tried_before);
  }
  auto made = put(key, body, PutCondition::if_absent);
  if (made) return made;
  if (means_no_conditions(made.error())) {
    if (upload_->conditions.exchange(false)) {
      upload_->log.warn("the store takes no create-only put; each key is looked at before it is written",
                        {{"error", made.error().message()}});
    }
    return create_unguarded(key, body, tried_before);
  }
  if (made.error().code() != ErrorCode::precondition_failed) return made;
  return settle_taken(key, body, upload_->if_exists == IfExists::verify || tried_before);
}

/// The key is taken: by our own bytes, which a retry or a replay has left there, or by others'.
Result<void> ObjectWriter::settle_taken(const std::string& key, std::string_view body, bool may_be_ours) {
  if (!may_be_ours) {
    return fail(Error::fatal(ErrorCode::already_exists,
                             "the key is taken, and if_exists is fail; choose another prefix, or if_exists verify"));
  }
  auto found = match_content(*upload_->store, key, body);
  if (!found) return fail(needs_get(std::move(found).error()));
  switch (found->match) {
    case Match::same:
      upload_->found.add();
      return {};
    case Match::different:
      return fail(Error::fatal(
          ErrorCode::already_exists,
          fmt::format("another object has this key: {}; nothing was overwritten. Another pipeline, or this one with "
                      "other settings, writes to the same place: choose another prefix, or if_exists overwrite; after "
                      "--reset, empty this one first",
                      found->how)));
    case Match::absent:
      break;
  }
  // Removed meanwhile; or a store that refuses every conditional put (B09).
  if (std::exchange(refused_while_absent_, true) && upload_->conditions.exchange(false)) {
    upload_->log.warn(
        "the store refuses create-only puts of keys that do not exist; each key is looked at before it is "
        "written");
  }
  return fail(
      Error::retryable(ErrorCode::precondition_failed, "the store says the key is taken, and that it does not exist"));
}

/// For stores without conditions: one look, then the put. Somebody who writes in between is overwritten.
Result<void> ObjectWriter::create_unguarded(const std::string& key, std::string_view body, bool tried_before) {
  auto head = upload_->store->head(key);
  if (head) return settle_taken(key, body, upload_->if_exists == IfExists::verify || tried_before);
  if (head.error().code() != ErrorCode::not_found) return fail(needs_get(std::move(head).error()));
  return put(key, body, PutCondition::none);
}

}  // namespace millrace::s3_sink
