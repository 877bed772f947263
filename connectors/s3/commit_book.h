// SPDX-License-Identifier: Apache-2.0
// CommitBook: a writer's commit objects, one for each of its partitions (docs/formats/commits.md,
// docs/adr/0016-exactly-once.md). Before an object is written the book says so in the store; the next such note says
// that it is there. A run that comes after a crash settles what was noted: by a look at the key, or by making the same
// file once more. Every save is conditional on the one before, so of two runs that have a partition only the later one
// goes on. Belongs to one I/O thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "connectors/s3/commit_record.h"
#include "connectors/s3/upload.h"
#include "millrace/sink/recall.h"

namespace millrace::s3_sink {

class CommitBook {
 public:
  /// `upload` has commits.
  explicit CommitBook(std::shared_ptr<Upload> upload) : upload_(std::move(upload)) {}

  /// Takes the partition over from whoever had it, and settles what can be by looking. `from`: what lies before it is
  /// committed; `origin`: null fails (config), as does one without a lineage. Fails retryably where the store does, and
  /// when another run has saved meanwhile; fatally where the note is damaged (manifest), of other offsets (drift) or of
  /// files told apart otherwise (config), and where another's object has a noted key (already_exists).
  [[nodiscard]] Result<Recall> recall(PartitionId partition, Offset from, const Origin* origin);
  /// The file is about to be written; `read_until`: EncodedChunk's. Durable on return; again for each try. Fails
  /// (fenced) when another run has taken the partition over.
  [[nodiscard]] Result<void> intend(PartitionId partition, const CommittedFile& file, UnixMicros read_until);
  /// It is written; the next save says so.
  void done(PartitionId partition, const CommittedFile& file);

 private:
  struct Kept {
    std::string key;
    CommitRecord record;
    ETag etag;                           ///< of the version last seen; empty: there is none
    std::optional<CommittedFile> begun;  ///< intended, and not done
  };
  [[nodiscard]] Result<Kept> load(PartitionId partition, const Origin& origin) const;
  [[nodiscard]] Result<void> check_offsets(const Kept& kept, const Origin& origin) const;
  [[nodiscard]] Result<void> check_series(const Kept& kept) const;
  [[nodiscard]] Result<void> settle_left(Kept& kept) const;
  [[nodiscard]] Result<void> save(Kept& kept) const;
  [[nodiscard]] Result<void> adopt_own(Kept& kept) const;
  void prune(Kept& kept) const;
  [[nodiscard]] std::string name_of(const Kept& kept) const;

  const std::shared_ptr<Upload> upload_;
  std::unordered_map<PartitionId, Kept> kept_;
};

}  // namespace millrace::s3_sink
