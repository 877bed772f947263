// SPDX-License-Identifier: Apache-2.0
// The receipt as lines of JSON.
#include <fmt/format.h>

#include <utility>

#include "connectors/s3/json_fields.h"
#include "connectors/s3/receipt.h"
#include "connectors/s3/rolling_hash.h"

namespace millrace::s3_source {
namespace {

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

void put_fates(Json& json, const ReceiptFates& fates) {
  json["out"] = fates.out;
  json["filtered"] = fates.filtered;
  json["skipped"] = Json::object();
  for (const auto& [reason, count] : fates.skipped) json["skipped"][reason] = count;
  for (const auto& [reason, count] : fates.dead_lettered) json["dead_lettered"][reason] = count;
  json["written"] = fates.written;
}

void read_fates(Fields& f, ReceiptFates& fates) {
  f.number("out", fates.out);
  f.number("filtered", fates.filtered);
  f.numbers("skipped", fates.skipped);
  if (f.has("dead_lettered")) f.numbers("dead_lettered", fates.dead_lettered);
  f.number("written", fates.written);
}

Json places_json(const std::vector<ReceiptPlace>& places) {
  Json array = Json::array();
  for (const ReceiptPlace& place : places) {
    Json one{{"sink", place.sink}};
    if (place.dropped != 0) {
      one["dropped"] = place.dropped;
    } else {
      one["to"] = bytes_json(place.to);
    }
    array.push_back(std::move(one));
  }
  return array;
}

void read_places(Fields& f, std::vector<ReceiptPlace>& places) {
  f.each("sinks", [&](const Json& item, const std::string& path) {
    Fields inner(item, path);
    ReceiptPlace place;
    inner.text("sink", place.sink);
    if (inner.has("dropped")) {
      inner.number("dropped", place.dropped);
      if (!inner.failed() && place.dropped == 0) inner.set("dropped", "is 0; there is at least one");
    } else {
      inner.bytes("to", place.to);
    }
    if (auto done = inner.done(); !done) return f.keep(std::move(done).error());
    if (!places.empty() && !(places.back() < place)) {
      return f.keep(wrong_field(path, "is out of order, or stands there twice"));
    }
    places.push_back(std::move(place));
  });
}

}  // namespace

std::string to_line(const ObjectReceipt& object) {
  Json json{{"object", bytes_json(object.key)}, {"etag", bytes_json(object.etag)}, {"size", object.size}};
  if (object.kind == ObjectReceipt::Kind::left_out) json["left_out"] = object.left_out;
  if (object.kind == ObjectReceipt::Kind::read) {
    json["stored"] = object.stored;
    json["decoded"] = object.decoded;
    json["xxh3"] = to_hex(object.xxh3);
    json["records"] = object.records;
    put_fates(json, object.fates);
    json["sinks"] = places_json(object.places);
  }
  if (object.kind == ObjectReceipt::Kind::quarantined) {
    json["quarantined"] = object.quarantined;
    json["stored"] = object.stored;
    json["records"] = object.records;
    put_fates(json, object.fates);
    json["sinks"] = places_json(object.places);
  }
  return line_of(json);
}

Result<ObjectReceipt> parse_object(std::string_view line) {
  MILLRACE_ASSIGN(const Json json, parse_json(line, "a line of a receipt"));
  ObjectReceipt object;
  Fields f(json, "", "line");
  f.bytes("object", object.key);
  f.bytes("etag", object.etag);
  f.number("size", object.size, UINT64_MAX);
  if (f.has("left_out")) {
    object.kind = ObjectReceipt::Kind::left_out;
    f.text("left_out", object.left_out);
  } else if (f.has("quarantined")) {
    object.kind = ObjectReceipt::Kind::quarantined;
    f.text("quarantined", object.quarantined);
    f.number("stored", object.stored);
    f.number("records", object.records);
    read_fates(f, object.fates);
    read_places(f, object.places);
  } else if (f.has("stored")) {
    f.number("stored", object.stored);
    f.number("decoded", object.decoded);
    f.hash("xxh3", object.xxh3);
    f.number("records", object.records);
    read_fates(f, object.fates);
    read_places(f, object.places);
  } else {
    object.kind = ObjectReceipt::Kind::empty;
    if (!f.failed() && object.size != 0) f.set("size", "is not 0, but nothing says what was read of it");
  }
  MILLRACE_TRY(f.done());
  return object;
}

std::string to_line(const ReceiptTotal& total) {
  Json json{
      {"receipt", kReceiptSchema},
      {"pipeline", bytes_json(total.pipeline)},
      {"source", bytes_json(total.source)},
      {"listing", {{"objects", total.listed}, {"bytes", total.listing_bytes}, {"hash", to_hex(total.listing_hash)}}},
      {"objects",
       {{"listed", total.listed},
        {"read", total.read},
        {"empty", total.empty},
        {"left_out", total.left_out},
        {"quarantined", total.quarantined}}},
      {"stored", total.stored},
      {"decoded", total.decoded},
      {"records", total.records}};
  put_fates(json, total.fates);
  json["xxh3"] = to_hex(total.xxh3);
  return line_of(json);
}

Result<ReceiptTotal> parse_total(std::string_view line) {
  MILLRACE_ASSIGN(const Json json, parse_json(line, "a line of a receipt"));
  ReceiptTotal total;
  Fields f(json, "", "line");
  std::uint64_t schema = 0;
  std::uint64_t objects = 0;
  f.number("receipt", schema);
  if (!f.failed() && schema != kReceiptSchema) {
    f.set("receipt", fmt::format("is {}; this program reads {}", schema, kReceiptSchema));
  }
  f.bytes("pipeline", total.pipeline);
  f.bytes("source", total.source);
  f.inside("listing", [&](Fields& inner) {
    inner.number("objects", objects);
    inner.number("bytes", total.listing_bytes, UINT64_MAX);
    inner.hash("hash", total.listing_hash);
  });
  f.inside("objects", [&](Fields& inner) {
    inner.number("listed", total.listed);
    inner.number("read", total.read);
    inner.number("empty", total.empty);
    inner.number("left_out", total.left_out);
    // Receipts of earlier builds do not name it.
    if (inner.has("quarantined")) inner.number("quarantined", total.quarantined);
  });
  if (!f.failed() && objects != total.listed) {
    f.set("objects.listed", fmt::format("is {}, and the listing has {}", total.listed, objects));
  }
  f.number("stored", total.stored);
  f.number("decoded", total.decoded);
  f.number("records", total.records);
  read_fates(f, total.fates);
  f.hash("xxh3", total.xxh3);
  MILLRACE_TRY(f.done());
  return total;
}

std::string to_line(const ReceiptPart& part) {
  Json partial = Json::array();
  for (const PartialReceipt& one : part.partial) {
    Json json{{"lane", one.lane}, {"watermark", one.watermark}};
    put_fates(json, one.fates);
    json["sinks"] = places_json(one.places);
    partial.push_back(std::move(json));
  }
  return line_of({{"receipt_part", kReceiptSchema},
                  {"number", part.number},
                  {"before", stored_json(part.before)},
                  {"replaces", part.replaces},
                  {"partial", std::move(partial)}});
}

Result<ReceiptPart> parse_part(std::string_view line) {
  MILLRACE_ASSIGN(const Json json, parse_json(line, "a part of a receipt"));
  ReceiptPart part;
  Fields f(json, "", "part");
  std::uint64_t schema = 0;
  f.number("receipt_part", schema);
  if (!f.failed() && schema != kReceiptSchema) {
    f.set("receipt_part", fmt::format("is {}; this program reads {}", schema, kReceiptSchema));
  }
  f.number("number", part.number);
  f.inside("before", [&](Fields& inner) { inner.stored(part.before); });
  f.byte_strings("replaces", part.replaces);
  f.each("partial", [&](const Json& item, const std::string& path) {
    Fields inner(item, path);
    PartialReceipt& one = part.partial.emplace_back();
    std::uint64_t watermark = 0;
    inner.number("lane", one.lane);
    inner.number("watermark", watermark);
    one.watermark = static_cast<std::int64_t>(watermark);
    read_fates(inner, one.fates);
    read_places(inner, one.places);
    if (auto done = inner.done(); !done) f.keep(std::move(done).error());
  });
  MILLRACE_TRY(f.done());
  return part;
}

}  // namespace millrace::s3_source
