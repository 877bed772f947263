// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/columnar_output.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "connectors/s3/json_fields.h"
#include "millrace/base/printable.h"

namespace millrace::s3_sink {
namespace {

using s3_source::Fields;
using s3_source::Json;

constexpr std::uint64_t kSchema = 1;
constexpr std::size_t kMostBytes = 4U << 20U;

std::string to_json(const std::vector<Column>& columns) {
  Json list = Json::array();
  for (const Column& column : columns) list.push_back(to_text(column));
  const Json json = {{"schema", kSchema}, {"columns", std::move(list)}};
  return json.dump(2) + "\n";
}

Result<std::vector<Column>> parse_columns(std::string_view text) {
  MILLRACE_ASSIGN(const auto json, s3_source::parse_json(text, "the columns"));
  Fields fields(json, "", "columns");
  std::uint64_t schema = 0;
  fields.number("schema", schema);
  if (!fields.failed() && schema != kSchema)
    fields.set("schema", fmt::format("is {}, and this version knows {}", schema, kSchema));
  std::vector<Column> columns;
  fields.each("columns", [&](const Json& item, const std::string& path) {
    if (!item.is_string()) return fields.keep(s3_source::wrong_field(path, "is no text"));
    auto column = parse_column(item.get_ref<const std::string&>());
    if (!column) return fields.keep(s3_source::wrong_field(path, column.error().message()));
    columns.push_back(*std::move(column));
  });
  MILLRACE_TRY(fields.done());
  // Their dots are part of the name.
  MILLRACE_TRY(check_columns(columns, false));
  return columns;
}

}  // namespace

Result<std::shared_ptr<ColumnarOutput>> ColumnarOutput::open(Options options) {
  const bool given = options.rows->shape()->settled;
  bool kept = given;
  if (!given) {
    auto found = options.store->get(options.key, kMostBytes);
    // Who may not list is told that what is absent is forbidden. The put that keeps them, which is create-only, finds
    // out.
    if (!found && found.error().code() != ErrorCode::not_found &&
        found.error().code() != ErrorCode::permission_denied) {
      return fail(std::move(found).error().prefixed(
          fmt::format("looking for the columns that an earlier run has kept ({}): ", printable_key(options.location))));
    }
    if (found) {
      auto columns = parse_columns(found->bytes);
      if (!columns) {
        return fail(Error::config(fmt::format(
            "the columns that an earlier run has kept in {} cannot be read: {}. Give them in parquet.schema, or remove "
            "that object, and they are inferred again",
            printable_key(options.location), columns.error().message())));
      }
      options.log.info("the columns are those that an earlier run has kept",
                       {{"object", printable_key(options.location)}, {"columns", std::to_string(columns->size())}});
      options.rows->settle_as(*std::move(columns));
      if (options.rows->shape()->columns().empty()) {
        return fail(Error::config(
            fmt::format("no columns are kept in {}, and a Parquet file has one at least: remove that object, and they "
                        "are inferred again, or set include_metadata or parquet.on_unknown_field: keep",
                        printable_key(options.location))));
      }
      kept = true;
    }
  }
  std::shared_ptr<Spool> spool;
  if (!options.spool_dir.empty()) {
    MILLRACE_ASSIGN(spool, Spool::open(options.spool_dir, options.spool_limit));
  }
  std::shared_ptr<ColumnarOutput> made(new ColumnarOutput(std::move(options), kept));
  made->spool_ = std::move(spool);
  return made;
}

Result<std::unique_ptr<ColumnarConverter>> ColumnarOutput::make_converter() {
  const std::shared_ptr<const RowShape> shape = options_.rows->settle();
  // First, or no later run could have columns.
  if (shape->columns().empty()) {
    return fail(
        Error::config("no record so far has a field that could be a column, and a Parquet file has one at least: set "
                      "include_metadata or parquet.on_unknown_field: keep, or give parquet.schema"));
  }
  {
    const MutexLock lock(mutex_);
    if (!kept_) MILLRACE_TRY(keep(*shape));
    kept_ = true;
  }
  return options_.kind.make(shape, options_.files);
}

/// Before the first object, and create-only: of two runs that begin at one time, the later one stops.
Result<void> ColumnarOutput::keep(const RowShape& shape) {
  if (auto made = put(to_json(shape.fields)); !made) {
    return fail(std::move(made).error().prefixed(
        fmt::format("keeping the inferred columns in {}: ", printable_key(options_.location))));
  }
  options_.log.info("the inferred columns are kept, for all later files and runs",
                    {{"object", printable_key(options_.location)}, {"columns", std::to_string(shape.fields.size())}});
  return {};
}

Result<void> ColumnarOutput::put(const std::string& text) {
  // B09: a store that refuses every conditional put, which is known once it has been told twice.
  if (!options_.conditions || refused_while_absent_) return put_after_a_look(text);
  auto made = put_when(PutCondition::if_absent, text);
  if (made) return made;
  if (made.error().code() == ErrorCode::not_supported) return put_after_a_look(text);
  if (made.error().code() != ErrorCode::precondition_failed) return made;
  auto same = compare(text);
  if (same || same.error().code() != ErrorCode::not_found) return same;
  refused_while_absent_ = true;
  return fail(
      Error::retryable(ErrorCode::precondition_failed, "the store says the key is taken, and that it does not exist"));
}

Result<void> ColumnarOutput::put_when(PutCondition condition, const std::string& text) const {
  MILLRACE_TRY(options_.store->put({.key = options_.key,
                                    .body = text,
                                    .condition = condition,
                                    .content_type = "application/json",
                                    .settings = options_.settings}));
  return {};
}

/// For stores without conditions. What somebody keeps in between is overwritten.
Result<void> ColumnarOutput::put_after_a_look(const std::string& text) const {
  const auto there = options_.store->head(options_.key);
  if (there) return compare(text);
  if (there.error().code() != ErrorCode::not_found) return fail(there.error());
  return put_when(PutCondition::none, text);
}

/// Something is there: what a try of our own has left, or what another run has kept since this one began.
Result<void> ColumnarOutput::compare(const std::string& text) const {
  const auto found = options_.store->get(options_.key, kMostBytes);
  if (!found) {
    const bool forbidden = found.error().code() == ErrorCode::permission_denied;
    return fail(Error(found.error())
                    .prefixed(forbidden ? "there are some already, and reading them needs s3:GetObject: "
                                        : "reading those that are there: "));
  }
  if (std::string_view(found->bytes) == text) return {};
  return fail(Error::fatal(
      ErrorCode::already_exists,
      "another run has kept other columns there since this one began; start again, and this one takes those"));
}

}  // namespace millrace::s3_sink
