// SPDX-License-Identifier: Apache-2.0
#include "cli/way_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "millrace/base/check.h"
#include "millrace/base/figures.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string thread_text(const StageRow& row) {
  return row.threads > 1 ? fmt::format("{} x{}", row.thread, row.threads) : row.thread;
}

std::string held_text(const MemoryPart& part) {
  switch (part.each) {
    case MemoryPart::Each::run:
      return bytes_text(part.bytes);
    case MemoryPart::Each::lane:
      return bytes_text(part.bytes) + " a lane";
    case MemoryPart::Each::object:
      return bytes_text(part.bytes) + " an object";
  }
  return "";
}

std::string part_line(const MemoryPart& part) {
  return fmt::format("      {:>17}  {:<15} {}\n", held_text(part), part.what, part.why);
}

Json parts_json(const std::vector<MemoryPart>& parts) {
  Json all = Json::array();
  for (const MemoryPart& part : parts) {
    Json one{{"what", part.what}, {"bytes", part.bytes}, {"why", part.why}};
    if (part.each == MemoryPart::Each::lane) one["each"] = "lane";
    if (part.each == MemoryPart::Each::object) one["each"] = "object";
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::string way_text(const DataWay& way, const RecordBound& record) {
  std::size_t thread = std::string_view("thread").size();
  for (const StageRow& row : way.rows) thread = std::max(thread, thread_text(row).size());
  const auto line = [thread](std::string_view number, std::string_view stage, std::string_view where,
                             std::string_view here) {
    return fmt::format("{:>2}  {:<10}  {:<{}}  {}\n", number, stage, where, thread, here);
  };
  std::string text = line("#", "stage", "thread", "what stands there, and what it holds at most");
  for (const StageRow& row : way.rows) {
    text += line(std::to_string(static_cast<int>(row.stage)), name_of(row.stage), thread_text(row), row.here);
    for (const MemoryPart& part : row.holds) text += part_line(part);
  }
  text += "beside them\n";
  for (const MemoryPart& part : way.beside) text += part_line(part);
  text += record.option.empty()
              ? fmt::format("for records of {}: nothing here bounds them, and longer ones take more\n",
                            bytes_text(record.bytes))
              : fmt::format("for records of {} at most ({})\n", bytes_text(record.bytes), record.option);
  return text;
}

std::string way_json(const DataWay& way, const RecordBound& record, std::string_view more) {
  Json json{{"stages", Json::array()}};
  for (const StageRow& row : way.rows) {
    Json one{{"number", static_cast<int>(row.stage)},
             {"stage", name_of(row.stage)},
             {"thread", row.thread},
             {"here", row.here},
             {"holds", parts_json(row.holds)}};
    if (row.threads != 0) one["threads"] = row.threads;
    json["stages"].push_back(std::move(one));
  }
  json["beside"] = parts_json(way.beside);
  json["record"] = {{"bytes", record.bytes}};
  if (!record.option.empty()) json["record"]["option"] = record.option;
  if (!more.empty()) {
    const Json members = Json::parse(more, nullptr, /*allow_exceptions=*/false);
    MILLRACE_CHECK(members.is_object(), "what a sink explains for programs is one JSON object");
    json.update(members);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::cli
