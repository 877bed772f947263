// SPDX-License-Identifier: Apache-2.0
// The CSV decoder: each payload is one row, and becomes a JSON object with the names of the header that its object
// began with (Origin::columns, put there by a source that frames csv). One per lane, on its thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/decode/csv_row.h"
#include "millrace/decode/payload.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/columns.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What becomes of a field's text.
enum class CsvTypes {
  strings,  ///< always a string, whatever it says
  /// Outside quotes: what is spelled as a JSON number, true or false stays that, nothing is null; the rest, and
  /// everything in quotes, is a string. `007`, `+1` and `.5` are no JSON numbers.
  infer,
};

/// Rows to JSON objects. What a row becomes is held until the next one.
class CsvReader {
 public:
  explicit CsvReader(CsvTypes types = CsvTypes::strings) : types_(types) {}

  /// False: error() says why, class record, or fatal when there is no header or one that names two columns alike.
  /// `columns` may be null.
  [[nodiscard]] bool read(std::string_view row, const std::shared_ptr<const Columns>& columns, decode::Json& json);
  [[nodiscard]] Error error() const { return *error_; }

 private:
  [[gnu::cold]] void take_columns(const std::shared_ptr<const Columns>& columns);
  [[gnu::cold]] bool refuse(Error error);
  [[gnu::cold]] bool refuse_count();
  void write(const CsvField& field);

  const CsvTypes types_;
  std::shared_ptr<const Columns> columns_;  // held, so that its address stays its own
  ByteBuffer keys_;                         // `{"a":`, `,"b":` ...
  std::vector<std::size_t> key_ends_;
  std::optional<Error> bad_names_;  // of the columns: nothing can be named by them
  std::vector<CsvField> fields_;
  ByteBuffer json_;
  std::optional<Error> error_;
};

namespace decode {

struct CsvOptions {
  OnError on_error = OnError::fail;
  CsvTypes types = CsvTypes::strings;
};

struct CsvDecoder : ChainPart {
  CsvOptions options;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, CsvOptions options, Next next)
        : flow_(&flow), id_(id), on_error_(options.on_error), reader_(options.types), next_(std::move(next)) {}
    [[nodiscard]] bool take(std::string_view payload, std::size_t /*readable_padding*/, const RecordMeta& meta) {
      flow_->running = id_;
      Json json;
      if (!reader_.read(payload, meta.origin != nullptr ? meta.origin->columns : no_columns_, json)) [[unlikely]]
        return flow_->reject(reader_.error(), on_error_, id_, meta);
      ++flow_->decoded;
      return next_.push(json, meta);
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    OnError on_error_;
    CsvReader reader_;
    std::shared_ptr<const Columns> no_columns_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (decode csv)"), options, std::move(next));
  }
};

/// Rows as JSON objects: records of decode::Json. A row that is no CSV, is not UTF-8, or has another number of fields
/// than the header is a record error. A header that names two columns alike is fatal with the first row.
[[nodiscard]] inline CsvDecoder csv(CsvOptions options = {}) { return {{}, options}; }

}  // namespace decode
}  // namespace millrace
#pragma GCC visibility pop
