// SPDX-License-Identifier: Apache-2.0
// ColumnarOutput: what all writers of a sink share whose files are in columns: how they are made, and which columns
// they have. Inferred ones are kept beside the objects before the first file is made, so that every later file, of this
// run and of others, has the same. Any thread.
#pragma once

#include <memory>
#include <string>

#include "connectors/s3/converted_file.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/encode/columnar.h"
#include "millrace/encode/row_book.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_sink {

class ColumnarOutput {
 public:
  struct Options {
    ColumnarKind kind;
    ColumnarOptions files;
    std::shared_ptr<RowBook> rows;
    std::shared_ptr<ObjectStore> store;
    bool conditions = true;   ///< the store keeps the condition of a put
    std::string key;          ///< of the object that keeps inferred columns
    std::string location;     ///< of it, for messages
    ObjectSettings settings;  ///< it is stored with
    std::string spool_dir;    ///< for files that are whole; empty: they are held in memory
    std::uint64_t spool_limit = 0;
    Logger log;
  };
  /// Takes the columns that an earlier run has kept, if any. Blocks.
  [[nodiscard]] static Result<std::shared_ptr<ColumnarOutput>> open(Options options);

  /// For one writer. Settles the columns first, and keeps them; tried again as a write is. Blocks.
  [[nodiscard]] Result<std::unique_ptr<ColumnarConverter>> make_converter();
  [[nodiscard]] ConvertedFile make_file() const { return {spool_.get(), kConvertedInMemory}; }

 private:
  explicit ColumnarOutput(Options options, bool kept) : options_(std::move(options)), kept_(kept) {}
  [[nodiscard]] Result<void> keep(const RowShape& shape) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Result<void> put(const std::string& text) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Result<void> put_when(PutCondition condition, const std::string& text) const;
  [[nodiscard]] Result<void> put_after_a_look(const std::string& text) const;
  [[nodiscard]] Result<void> compare(const std::string& text) const;

  const Options options_;
  std::shared_ptr<Spool> spool_;  ///< null: none
  Mutex mutex_;
  bool kept_ MILLRACE_GUARDED_BY(mutex_);  ///< nothing is left to be settled
  /// The store has said that the object is there, and that it is not.
  bool refused_while_absent_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::s3_sink
