// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/commit_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "connectors/s3/content_match.h"
#include "millrace/base/printable.h"

namespace millrace::s3_sink {
namespace {

/// Nothing is there, or it is not said what.
bool hides_nothing(const Error& error) {
  return error.code() == ErrorCode::not_found || error.code() == ErrorCode::permission_denied;
}

auto of_series(const FileSeries& series) {
  return [&series](const CommittedFile& file) { return file.series == series; };
}

/// `known` was about to be written by an earlier run, and this one would write `file` in its place. `note`: the object
/// that says so.
Error cannot_be_made_again(const CommittedFile& known, const CommittedFile& file, std::string_view note) {
  const std::string key = printable_key(known.key);
  const std::string or_anew = fmt::format(
      "if no other run is alive, remove {} and the files below this prefix, and run again with --reset", note);
  if (known.key == file.key) {
    return Error::fatal(
        ErrorCode::drift,
        fmt::format(
            "an earlier run was about to write {}, which may still come to be, with other bytes ({}, checksum {}) "
            "than this one makes of the same records ({}, checksum {}): another version of the program, or of "
            "its compression library. Run once with the one of then; or, {}",
            key, known.bytes, known.checksum, file.bytes, file.checksum, or_anew));
  }
  return Error::fatal(
      ErrorCode::drift,
      fmt::format(
          "an earlier run was about to write {}, which may still come to be; this run would write {} with the same "
          "records, or some of them. Run once with the settings of then; or, {}",
          key, printable_key(file.key), or_anew));
}

Error is_damaged(std::string_view note, const Error& error) {
  return Error::fatal(
      ErrorCode::manifest,
      fmt::format("{} is damaged: {}. What it said of earlier runs is lost: remove it and the files they "
                  "wrote, and run again with --reset; or write to another prefix",
                  note, error.message()));
}

void put_durable(CommitRecord& record, const CommittedFile& file) {
  std::erase_if(record.unsettled, of_series(file.series));
  std::erase_if(record.durable, of_series(file.series));
  record.durable.push_back(file);
}

}  // namespace

std::string CommitBook::name_of(const Kept& kept) const { return printable_key(upload_->location(kept.key)); }

Result<Recall> CommitBook::recall(PartitionId partition, Offset from, const Origin* origin) {
  if (origin == nullptr || origin->lineage.empty()) {
    return fail(
        Error::fatal(ErrorCode::config,
                     "delivery: exactly_once needs a source that says what its offsets count; this one does not"));
  }
  kept_.erase(partition);
  upload_->commits->forget(partition);
  MILLRACE_ASSIGN(Kept kept, load(partition, *origin));
  MILLRACE_TRY(check_offsets(kept, *origin));
  // Between the two lies what nobody has noted: of other settings, or of records that no file was made of.
  if (from.value() > kept.record.reaches().value() + 1) kept.record.latest = kNoTimestamp;
  kept.record.floor = std::max(kept.record.floor, from);
  prune(kept);
  MILLRACE_TRY(check_series(kept));
  MILLRACE_TRY(settle_left(kept));
  kept.record.files_by = upload_->commits->files_by;
  if (auto saved = save(kept); !saved) {
    // The run before has saved behind our look; the next look sees what.
    const bool raced = saved.error().code() == ErrorCode::fenced;
    return fail(raced ? Error::retryable(ErrorCode::precondition_failed, saved.error().message()) : saved.error());
  }
  Recall recall;
  recall.floor = kept.record.floor;
  recall.latest = kept.record.latest;
  recall.note = name_of(kept);
  for (const CommittedFile& file : kept.record.durable) recall.durable.push_back({file.series, file.last});
  for (const CommittedFile& file : kept.record.unsettled)
    recall.unsettled.push_back({file.series, file.first, file.last});
  kept_.emplace(partition, std::move(kept));
  return recall;
}

Result<CommitBook::Kept> CommitBook::load(PartitionId partition, const Origin& origin) const {
  Kept kept;
  kept.key = fmt::format("{}commits-{}.json", upload_->commits->folder,
                         UploadLedger::slot_of(origin.stream, origin.topic, partition));
  auto found = upload_->store->get(kept.key, kCommitRecordLimit);
  // Without the right to list, S3 refuses to read what is not there; the save then shows whether it was.
  if (!found && hides_nothing(found.error())) {
    kept.record.stream = origin.stream;
    kept.record.topic = origin.topic;
    kept.record.partition = partition;
    kept.record.lineage = origin.lineage;
    return kept;
  }
  if (!found) return fail(std::move(found).error().prefixed(fmt::format("reading {}: ", name_of(kept))));
  auto record = parse_commit_record(found->bytes);
  if (!record) return fail(is_damaged(name_of(kept), record.error()));
  kept.record = *std::move(record);
  kept.etag = found->etag;
  return kept;
}

/// Whether what an earlier run noted can be understood by this one.
Result<void> CommitBook::check_offsets(const Kept& kept, const Origin& origin) const {
  const CommitRecord& record = kept.record;
  if (record.stream != origin.stream || record.topic != origin.topic) {
    return fail(Error::fatal(ErrorCode::manifest,
                             fmt::format("{} is of {}/{}, not of {}/{}", name_of(kept), printable(record.stream),
                                         printable(record.topic), printable(origin.stream), printable(origin.topic))));
  }
  if (record.lineage != origin.lineage) {
    return fail(Error::fatal(
        ErrorCode::drift,
        fmt::format(
            "{} was written for other records under the same offsets ({}, now {}): the source begins anew, or its "
            "input has changed. To write all of it again choose another prefix, or remove that object and the "
            "files of that run",
            name_of(kept), printable(record.lineage), printable(origin.lineage))));
  }
  return {};
}

/// Whether the files of an earlier run that are not committed are told apart as those of now.
Result<void> CommitBook::check_series(const Kept& kept) const {
  const CommitRecord& record = kept.record;
  const std::string& now = upload_->commits->files_by;
  if (!kept.etag.empty() && record.files_by != now && (!record.durable.empty() || !record.unsettled.empty())) {
    return fail(Error::fatal(
        ErrorCode::config,
        fmt::format(
            "{} notes files that are told apart by {}, and the settings of now tell them apart by {}: run once "
            "more with the former rotate_on and path_template until the input is through or the run is stopped, "
            "then change them",
            name_of(kept), printable(record.files_by), printable(now))));
  }
  return {};
}

/// One look at each file that an earlier run was about to write. What is not there may still come, from a run that is
/// not as dead as it seems; so it stays noted, and is made once more under the same key.
Result<void> CommitBook::settle_left(Kept& kept) const {
  const std::vector<CommittedFile> left = kept.record.unsettled;
  for (const CommittedFile& file : left) {
    auto found = match_content(*upload_->store, file.key, file.bytes, file.checksum);
    if (!found && hides_nothing(found.error())) continue;
    if (!found) return fail(std::move(found).error().prefixed(fmt::format("looking at {}: ", printable_key(file.key))));
    switch (found->match) {
      case Match::same:
        put_durable(kept.record, file);
        break;
      case Match::different:
        return fail(Error::fatal(
            ErrorCode::already_exists,
            fmt::format("{} notes that {} was about to be written, and another object lies there: {}. Somebody else "
                        "writes to the same place: choose another prefix",
                        name_of(kept), printable_key(upload_->location(file.key)), found->how)));
      case Match::absent:
        break;
    }
  }
  return {};
}

/// What the source will not give again needs no note: neither what is durable, nor a file of records that no chain of
/// now lets through any more.
void CommitBook::prune(Kept& kept) const {
  if (const auto settled = upload_->commits->settled(kept.record.partition))
    kept.record.floor = std::max(kept.record.floor, Offset(settled->value()));
  const auto passed = [&](const CommittedFile& file) { return file.last < kept.record.floor; };
  std::erase_if(kept.record.durable, passed);
  std::erase_if(kept.record.unsettled, passed);
}

Result<void> CommitBook::save(Kept& kept) const {
  prune(kept);
  CommitRecord next = kept.record;
  next.writer = upload_->commits->writer;
  ++next.saves;
  const std::string text = to_json(next);
  if (text.size() > kCommitRecordLimit) {
    return fail(
        Error::fatal(ErrorCode::limit,
                     fmt::format("{} would be {} bytes long, and at most {} are read again: {} files are written and "
                                 "not committed; commit more often (checkpoint.interval), or keep records apart by "
                                 "fewer values",
                                 name_of(kept), text.size(), kCommitRecordLimit, next.durable.size())));
  }
  auto put = upload_->store->put({.key = kept.key,
                                  .body = text,
                                  .condition = kept.etag.empty() ? PutCondition::if_absent : PutCondition::if_match,
                                  .etag = kept.etag,
                                  .content_type = "application/json",
                                  .settings = upload_->as.of_notes()});
  if (put) {
    kept.record = std::move(next);
    kept.etag = put->etag;
    return {};
  }
  if (put.error().code() == ErrorCode::precondition_failed) {
    MILLRACE_TRY(adopt_own(kept));
    return save(kept);
  }
  return fail(std::move(put).error().prefixed(fmt::format("writing {}: ", name_of(kept))));
}

/// Somebody has saved since: ourselves, where an answer was lost, or another run.
Result<void> CommitBook::adopt_own(Kept& kept) const {
  auto found = upload_->store->get(kept.key, kCommitRecordLimit);
  if (!found) return fail(std::move(found).error().prefixed(fmt::format("reading {}: ", name_of(kept))));
  auto record = parse_commit_record(found->bytes);
  if (!record) return fail(is_damaged(name_of(kept), record.error()));
  if (record->writer == upload_->commits->writer) {
    if (found->etag == kept.etag) {
      return fail(
          Error::fatal(ErrorCode::precondition_failed,
                       fmt::format("the store refuses to replace {} although nobody has changed it: it does not keep "
                                   "the condition of a put, which exactly_once needs",
                                   name_of(kept))));
    }
    kept.etag = found->etag;
    kept.record.saves = record->saves;
    return {};
  }
  return fail(
      Error::fatal(ErrorCode::fenced,
                   fmt::format("another run has taken over {}; this one has written nothing since, and stops. Only one "
                               "run may write a partition at a time",
                               name_of(kept))));
}

Result<void> CommitBook::intend(PartitionId partition, const CommittedFile& file, UnixMicros read_until) {
  const auto found = kept_.find(partition);
  if (found == kept_.end()) {
    return fail(Error::fatal(
        ErrorCode::rule_broken,
        fmt::format("partition {} is written before it was asked what is written of it", partition.value())));
  }
  Kept& kept = found->second;
  // What lies before a durable file of its series is taken for durable by the next run.
  if (kept.begun && *kept.begun != file) {
    return fail(
        Error::fatal(ErrorCode::rule_broken, fmt::format("{} was not written, so {} behind it is not either",
                                                         printable_key(kept.begun->key), printable_key(file.key))));
  }
  prune(kept);
  kept.record.latest = std::max(kept.record.latest, read_until);
  auto& unsettled = kept.record.unsettled;
  if (const auto known = std::ranges::find_if(unsettled, of_series(file.series)); known != unsettled.end()) {
    if (*known == file) {
      kept.begun = file;
      return save(kept);  // again, so that a run that was overtaken while it waited does not write
    }
    return fail(cannot_be_made_again(*known, file, name_of(kept)));
  }
  kept.begun = file;
  unsettled.push_back(file);
  auto saved = save(kept);
  // Whether it was saved is not known; the next try says it again.
  if (!saved) std::erase_if(kept.record.unsettled, of_series(file.series));
  return saved;
}

void CommitBook::done(PartitionId partition, const CommittedFile& file) {
  const auto found = kept_.find(partition);
  if (found == kept_.end()) return;
  found->second.begun.reset();
  put_durable(found->second.record, file);
}

}  // namespace millrace::s3_sink
