// SPDX-License-Identifier: Apache-2.0
// The manifest as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/s3/json_fields.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/options.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

void read_source(Fields& f, SourceIdentity& identity) {
  f.bytes("url", identity.url);
  f.text("format", identity.format);
  f.text("compression", identity.compression);
  f.byte_strings("include", identity.include);
  f.byte_strings("exclude", identity.exclude);
  f.bytes("start_after", identity.start_after);
  f.text_if_set("min_size", identity.limits.min_size);
  f.text_if_set("max_size", identity.limits.max_size);
  f.text_if_set("modified_after", identity.limits.modified_after);
  f.text_if_set("modified_before", identity.limits.modified_before);
  if (!f.has("shard")) return;
  Shard shard;
  f.inside("shard", [&](Fields& inner) {
    inner.number("index", shard.index);
    inner.number("count", shard.count, kMaxShards);
    if (!inner.failed() && shard.index >= shard.count) {
      inner.set("index", fmt::format("is {}, but there are {} shards", shard.index, shard.count));
    }
  });
  identity.shard = shard;
}

/// Stands there for shards only, and for them always.
void read_whole(Fields& f, Manifest& manifest) {
  const bool there = f.has("whole_listing");
  if (there != manifest.identity.shard.has_value() && !f.failed()) {
    return f.set("whole_listing", there ? "stands there without a shard" : "is missing although there is a shard");
  }
  if (!there) return;
  WholeListing whole;
  f.inside("whole_listing", [&](Fields& inner) {
    inner.number("objects", whole.objects);
    inner.number("bytes", whole.bytes, UINT64_MAX);
    inner.hash("hash", whole.hash);
  });
  manifest.whole = whole;
}

void read_owner(Fields& f, Owner& owner) {
  f.text("id", owner.id);
  f.text("host", owner.host);
  f.number("pid", owner.pid);
  f.text("process", owner.process);
  f.time("started", owner.started);
  f.time("heartbeat", owner.heartbeat);
  f.flag("released", owner.released);
}

void read_receipt(Fields& f, Manifest& manifest) {
  ReceiptState receipt;
  f.bytes("url", receipt.url);
  f.stored(receipt.at);
  f.flag("finished", receipt.finished);
  manifest.receipt = std::move(receipt);
}

void read_skipped(Fields& f, Manifest::Skipped& skipped) {
  f.number("count", skipped.count);
  f.byte_strings("keys", skipped.keys);
  if (!f.failed() &&
      (skipped.count == 0 || skipped.keys.size() != std::min<std::size_t>(skipped.count, kSkippedNamed))) {
    f.set("count", fmt::format("is {}, but {} keys stand there; the first {} have to", skipped.count,
                               skipped.keys.size(), kSkippedNamed));
  }
}

void read_quarantined(Fields& f, const Manifest& manifest, QuarantinedObject& object) {
  f.number("lane", object.lane, manifest.lanes - 1);
  f.number("ordinal", object.ordinal, kMaxObjectsPerLane - 1);
  f.bytes("key", object.key);
  f.bytes("etag", object.etag);
  f.number("size", object.size, UINT64_MAX);
  f.number("records", object.records, kMaxRecordsPerObject);
  f.hash("records_hash", object.records_hash);
  f.number("byte", object.byte, UINT64_MAX);
  f.text("code", object.code);
  f.bytes("reason", object.reason);
  if (f.has("retry")) {
    RetryProgress retry;
    f.inside("retry", [&](Fields& inner) {
      inner.bytes("etag", retry.etag);
      inner.number("records", retry.records, kMaxRecordsPerObject);
    });
    object.retry = std::move(retry);
  }
  if (f.failed()) return;
  if (object.reason.size() > kReasonLimit) {
    return f.set("reason", fmt::format("has {} bytes; it has {} at most", object.reason.size(), kReasonLimit));
  }
  if (object.retry && object.retry->records < object.records) {
    return f.set("retry.records", fmt::format("is {}, but {} records were written before the retry",
                                              object.retry->records, object.records));
  }
  const auto place = [](const QuarantinedObject& one) { return std::pair(one.lane, one.ordinal); };
  if (!manifest.quarantined.empty() && place(manifest.quarantined.back()) >= place(object)) {
    const QuarantinedObject& before = manifest.quarantined.back();
    return f.set("ordinal", fmt::format("is {} of lane {} behind {} of lane {}; they rise and come once",
                                        object.ordinal, object.lane, before.ordinal, before.lane));
  }
  const LanePosition* at = manifest.position(object.lane);
  if (at == nullptr || watermark_of({object.ordinal, kObjectComplete}) > at->watermark) {
    f.set("ordinal", fmt::format("is {}, which the position of lane {} has not passed", object.ordinal, object.lane));
  }
}

void read_position(Fields& f, const Manifest& manifest, LanePosition& at) {
  std::uint64_t watermark = 0;
  std::uint64_t ordinal = 0;
  f.number("lane", at.lane, manifest.lanes - 1);
  f.number("watermark", watermark);
  f.number("ordinal", ordinal);
  f.bytes("key", at.key);
  f.bytes("etag", at.etag);
  f.hash("prefix_hash", at.prefix_hash);
  if (f.failed()) return;
  at.watermark = Watermark(static_cast<std::int64_t>(watermark));
  if (ordinal != watermark >> kIndexBits) {
    f.set("ordinal",
          fmt::format("is {}, but the watermark {} lies in object {}", ordinal, watermark, watermark >> kIndexBits));
  } else if (!manifest.positions.empty() && manifest.positions.back().lane >= at.lane) {
    f.set("lane",
          fmt::format("is {} behind lane {}; lanes rise and come once", at.lane, manifest.positions.back().lane));
  }
}

Result<Manifest> read_manifest(const Json& json) {
  Manifest manifest;
  Fields f(json, "");
  std::uint64_t schema = 0;
  f.number("schema", schema);
  if (!f.failed() && schema != kManifestSchema) {
    return fail(wrong_field("schema", fmt::format("is {}; this program reads {}{}", schema, kManifestSchema,
                                                  schema > kManifestSchema ? ", so a newer one wrote it" : "")));
  }
  f.number("generation", manifest.generation);
  f.time("updated", manifest.updated);
  f.flag("complete", manifest.complete);
  f.inside("source", [&](Fields& inner) { read_source(inner, manifest.identity); });
  f.number("lanes", manifest.lanes, kMaxLanes);
  if (!f.failed() && manifest.lanes == 0) f.set("lanes", "is 0; there is at least one");
  f.inside("listing", [&](Fields& inner) {
    inner.number("objects", manifest.listing.objects);
    inner.number("bytes", manifest.listing.bytes, UINT64_MAX);
    inner.hash("hash", manifest.listing.hash);
  });
  read_whole(f, manifest);
  f.inside("kept_listing", [&](Fields& inner) { inner.stored(manifest.kept_listing); });
  f.each("positions", [&](const Json& item, const std::string& path) {
    LanePosition at;
    Fields inner(item, path);
    read_position(inner, manifest, at);
    if (auto done = inner.done(); !done) return f.keep(std::move(done).error());
    manifest.positions.push_back(std::move(at));
  });
  if (f.has("skipped")) f.inside("skipped", [&](Fields& inner) { read_skipped(inner, manifest.skipped); });
  if (f.has("quarantined")) {
    f.each("quarantined", [&](const Json& item, const std::string& path) {
      QuarantinedObject object;
      Fields inner(item, path);
      read_quarantined(inner, manifest, object);
      if (auto done = inner.done(); !done) return f.keep(std::move(done).error());
      manifest.quarantined.push_back(std::move(object));
    });
    if (!f.failed() && (manifest.quarantined.empty() || manifest.quarantined.size() > kMostQuarantined)) {
      f.set("quarantined", fmt::format("has {} objects; from 1 to {} stand there, or nothing does",
                                       manifest.quarantined.size(), kMostQuarantined));
    }
  }
  if (f.has("receipt")) f.inside("receipt", [&](Fields& inner) { read_receipt(inner, manifest); });
  f.inside("owner", [&](Fields& inner) { read_owner(inner, manifest.owner); });
  MILLRACE_TRY(f.done());
  return manifest;
}

Json byte_strings_json(const std::vector<std::string>& items) {
  Json array = Json::array();
  for (const std::string& item : items) array.push_back(bytes_json(item));
  return array;
}

Json position_json(const LanePosition& at) {
  return {{"lane", at.lane},           {"watermark", at.watermark.value()}, {"ordinal", at.position().ordinal},
          {"key", bytes_json(at.key)}, {"etag", bytes_json(at.etag)},       {"prefix_hash", to_hex(at.prefix_hash)}};
}

Json quarantined_json(const QuarantinedObject& object) {
  Json json{{"lane", object.lane},
            {"ordinal", object.ordinal},
            {"key", bytes_json(object.key)},
            {"etag", bytes_json(object.etag)},
            {"size", object.size},
            {"records", object.records},
            {"records_hash", to_hex(object.records_hash)},
            {"byte", object.byte},
            {"code", object.code},
            {"reason", bytes_json(object.reason)}};
  if (object.retry) json["retry"] = {{"etag", bytes_json(object.retry->etag)}, {"records", object.retry->records}};
  return json;
}

Json manifest_json(const Manifest& manifest) {
  const SourceIdentity& source = manifest.identity;
  const Owner& owner = manifest.owner;
  Json positions = Json::array();
  for (const LanePosition& at : manifest.positions) positions.push_back(position_json(at));
  Json json{{"schema", kManifestSchema},
            {"generation", manifest.generation},
            {"updated", to_rfc3339(manifest.updated, 6)},
            {"complete", manifest.complete},
            {"source",
             {{"url", bytes_json(source.url)},
              {"format", source.format},
              {"compression", source.compression},
              {"include", byte_strings_json(source.include)},
              {"exclude", byte_strings_json(source.exclude)},
              {"start_after", bytes_json(source.start_after)}}},
            {"lanes", manifest.lanes},
            {"listing",
             {{"objects", manifest.listing.objects},
              {"bytes", manifest.listing.bytes},
              {"hash", to_hex(manifest.listing.hash)}}},
            {"kept_listing", stored_json(manifest.kept_listing)},
            {"positions", std::move(positions)},
            {"owner",
             {{"id", owner.id},
              {"host", owner.host},
              {"pid", owner.pid},
              {"process", owner.process},
              {"started", to_rfc3339(owner.started, 6)},
              {"heartbeat", to_rfc3339(owner.heartbeat, 6)},
              {"released", owner.released}}}};
  for (const auto& [name, value] : source.limits.fields()) {
    if (!value.empty()) json["source"][name] = value;
  }
  if (source.shard) json["source"]["shard"] = {{"index", source.shard->index}, {"count", source.shard->count}};
  if (manifest.whole) {
    json["whole_listing"] = {
        {"objects", manifest.whole->objects}, {"bytes", manifest.whole->bytes}, {"hash", to_hex(manifest.whole->hash)}};
  }
  if (const auto& receipt = manifest.receipt) {
    json["receipt"] = Json{{"url", bytes_json(receipt->url)}};
    json["receipt"].update(stored_json(receipt->at));
    json["receipt"]["finished"] = receipt->finished;
  }
  if (manifest.skipped.count > 0) {
    json["skipped"] = {{"count", manifest.skipped.count}, {"keys", byte_strings_json(manifest.skipped.keys)}};
  }
  for (const QuarantinedObject& object : manifest.quarantined) {
    json["quarantined"].push_back(quarantined_json(object));
  }
  return json;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view json) {
  if (json.empty()) return fail(Error::fatal(ErrorCode::manifest, "it is empty (0 bytes)"));
  if (json.starts_with("\xEF\xBB\xBF")) {
    return fail(Error::fatal(ErrorCode::manifest, "it begins with a byte order mark, which this program never writes"));
  }
  if (json.size() > kManifestLimit) {
    return fail(Error::fatal(ErrorCode::manifest, fmt::format("it has {} bytes; no manifest has more than {}",
                                                              json.size(), kManifestLimit)));
  }
  MILLRACE_ASSIGN(const Json tree, parse_json(json, "a manifest"));
  return read_manifest(tree);
}

std::string to_json(const Manifest& manifest) {
  return manifest_json(manifest).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::s3_source
