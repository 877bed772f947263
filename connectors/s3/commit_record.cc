// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/commit_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/s3/json_fields.h"

namespace millrace::s3_sink {
namespace {

using s3_source::Fields;
using s3_source::Json;

constexpr std::uint64_t kSchema = 1;
constexpr std::string_view kDocument = "commit object";

Json files_json(const std::vector<CommittedFile>& files) {
  Json list = Json::array();
  for (const CommittedFile& file : files) {
    Json one = Json::object();
    if (file.series.bucket != FileSeries::kNoTime) one["time"] = file.series.bucket;
    if (!file.series.route.empty()) one["route"] = s3_source::bytes_json(file.series.route);
    one["first"] = file.first.value();
    one["last"] = file.last.value();
    one["key"] = s3_source::bytes_json(file.key);
    one["bytes"] = file.bytes;
    one["checksum"] = file.checksum;
    list.push_back(std::move(one));
  }
  return list;
}

void read_offset(Fields& fields, std::string_view name, Offset& out) {
  std::uint64_t number = 0;
  fields.number(name, number);
  out = Offset(static_cast<std::int64_t>(number));
}

void read_files(Fields& fields, std::string_view name, std::vector<CommittedFile>& out) {
  fields.each(name, [&](const Json& item, std::string path) {
    Fields one(item, std::move(path), kDocument);
    CommittedFile file;
    if (one.has("time")) {
      one.integer("time", file.series.bucket);
      if (file.series.bucket == FileSeries::kNoTime) one.set("time", "is no hour and no day");
    }
    if (one.has("route")) one.bytes("route", file.series.route);
    read_offset(one, "first", file.first);
    read_offset(one, "last", file.last);
    one.bytes("key", file.key);
    one.number("bytes", file.bytes);
    std::uint64_t checksum = 0;
    one.hash("checksum", checksum);
    file.checksum = fmt::format("{:016x}", checksum);
    if (!one.failed() && file.first > file.last) one.set("first", "lies behind last");
    if (auto done = one.done(); !done) return fields.keep(std::move(done).error());
    out.push_back(std::move(file));
  });
}

}  // namespace

Offset CommitRecord::reaches() const noexcept {
  Offset last(floor.value() - 1);
  for (const CommittedFile& file : durable) last = std::max(last, file.last);
  for (const CommittedFile& file : unsettled) last = std::max(last, file.last);
  return last;
}

std::string to_json(const CommitRecord& record) {
  Json json = {{"schema", kSchema},
               {"stream", s3_source::bytes_json(record.stream)},
               {"topic", s3_source::bytes_json(record.topic)},
               {"partition", record.partition.value()},
               {"lineage", s3_source::bytes_json(record.lineage)},
               {"files_by", s3_source::bytes_json(record.files_by)},
               {"writer", record.writer},
               {"saves", record.saves},
               {"floor", record.floor.value()},
               {"durable", files_json(record.durable)},
               {"unsettled", files_json(record.unsettled)}};
  if (record.latest != kNoTimestamp) json["latest"] = record.latest;
  return json.dump(2) + "\n";
}

Result<CommitRecord> parse_commit_record(std::string_view text) {
  MILLRACE_ASSIGN(const auto json, s3_source::parse_json(text, "a commit object"));
  Fields fields(json, "", kDocument);
  std::uint64_t schema = 0;
  fields.number("schema", schema);
  if (!fields.failed() && schema != kSchema)
    fields.set("schema", fmt::format("is {}, and this version knows {}", schema, kSchema));
  CommitRecord record;
  std::uint64_t partition = 0;
  fields.bytes("stream", record.stream);
  fields.bytes("topic", record.topic);
  fields.number("partition", partition, UINT32_MAX);
  record.partition = PartitionId(static_cast<std::uint32_t>(partition));
  fields.bytes("lineage", record.lineage);
  fields.bytes("files_by", record.files_by);
  fields.text("writer", record.writer);
  fields.number("saves", record.saves);
  read_offset(fields, "floor", record.floor);
  if (fields.has("latest")) {
    fields.integer("latest", record.latest);
    if (record.latest == kNoTimestamp) fields.set("latest", "is no time");
  }
  read_files(fields, "durable", record.durable);
  read_files(fields, "unsettled", record.unsettled);
  MILLRACE_TRY(fields.done());
  return record;
}

}  // namespace millrace::s3_sink
