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
  {
    const MutexLock lock(mutex_);
    if (!kept_) MILLRACE_TRY(keep(*shape));
    kept_ = true;
  }
  if (shape->columns().empty()) {
    return fail(
        Error::config("no record so far has a field that could be a column, and a Parquet file has one at least: set "
                      "include_metadata "
                      "or parquet.on_unknown_field: keep, or give parquet.schema"));
  }
  return options_.kind.make(shape, options_.files);
}

/// Before the first object, and create-only: of two runs that begin at one time, the later one stops.
Result<void> ColumnarOutput::keep(const RowShape& shape) const {
  const std::string text = to_json(shape.fields);
  const auto put = [&](PutCondition condition) {
    return options_.store->put({.key = options_.key,
                                .body = text,
                                .condition = condition,
                                .content_type = "application/json",
                                .settings = options_.settings});
  };
  auto made = put(PutCondition::if_absent);
  if (!made && made.error().code() == ErrorCode::not_supported) {
    const auto there = options_.store->head(options_.key);
    if (there) return compare(text);
    if (there.error().code() == ErrorCode::not_found) made = put(PutCondition::none);
  }
  if (!made && made.error().code() == ErrorCode::precondition_failed) return compare(text);
  if (!made) {
    return fail(std::move(made).error().prefixed(
        fmt::format("keeping the inferred columns in {}: ", printable_key(options_.location))));
  }
  options_.log.info("the inferred columns are kept, for all later files and runs",
                    {{"object", printable_key(options_.location)}, {"columns", std::to_string(shape.fields.size())}});
  return {};
}

/// Something is there: what a try of our own has left, or what another run has kept since this one began.
Result<void> ColumnarOutput::compare(const std::string& text) const {
  const auto found = options_.store->get(options_.key, kMostBytes);
  if (!found) {
    return fail(Error(found.error())
                    .prefixed(fmt::format("columns are kept in {} already, and reading them needs s3:GetObject: ",
                                          printable_key(options_.location))));
  }
  if (std::string_view(found->bytes) == text) return {};
  return fail(Error::fatal(
      ErrorCode::already_exists,
      fmt::format(
          "another run has kept other columns in {} since this one began; start again, and this one takes those",
          printable_key(options_.location))));
}

}  // namespace millrace::s3_sink
