// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "connectors/s3/bytes_json.h"
#include "connectors/s3/rolling_hash.h"
#include "connectors/s3/status.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

using Json = nlohmann::ordered_json;

Json version_json(const ObjectVersion& version) {
  Json json{{"etag", bytes_json(version.etag)}, {"size", version.size}};
  if (version.last_modified != kNoTimestamp) json["modified"] = to_rfc3339(version.last_modified, 6);
  return json;
}

std::string_view name_of(ObjectChange::Kind kind) {
  return kind == ObjectChange::Kind::added ? "added" : kind == ObjectChange::Kind::removed ? "removed" : "changed";
}

}  // namespace

std::string change_json(const ObjectChange& change) {
  Json json{{"change", name_of(change.kind())}, {"key", bytes_json(change.key)}};
  if (change.was) json["was"] = version_json(*change.was);
  if (change.is) json["is"] = version_json(*change.is);
  return json.dump() + "\n";
}

std::string change_total_json(const ListingDifference& difference, const std::string& manifest_url) {
  const Json total{{"manifest", printable(manifest_url)},
                   {"added", difference.added.count},
                   {"removed", difference.removed.count},
                   {"changed", difference.changed.count}};
  return Json{{"total", total}}.dump() + "\n";
}

std::string not_compared_json(std::string_view why, const std::string& manifest_url) {
  const Json total{{"manifest", printable(manifest_url)}, {"not_compared", why}};
  return Json{{"total", total}}.dump() + "\n";
}

namespace {

Json aside_json(const QuarantinedObject& object) {
  return {{"key", bytes_json(object.key)},
          {"lane", object.lane},
          {"ordinal", object.ordinal},
          {"etag", bytes_json(object.etag)},
          {"size", object.size},
          {"records", object.retry ? object.retry->records : object.records},
          {"byte", object.byte},
          {"code", object.code},
          {"reason", printable(object.reason)}};
}

Json document_of(const Manifest& manifest, const std::string& manifest_url, UnixMicros now, std::size_t most_aside) {
  Json lanes = Json::array();
  for (std::uint64_t lane = 0; lane < manifest.lanes; ++lane) {
    const LaneStatus status = lane_status(manifest, lane);
    lanes.push_back({{"lane", lane},
                     {"objects", status.objects},
                     {"objects_done", status.objects_done},
                     {"records_in_progress", status.records_in_progress},
                     {"key", printable(status.key)}});
  }
  Json document = {{"url", printable(manifest.identity.url)},
                   {"manifest", manifest_url},
                   {"complete", manifest.complete},
                   {"objects", manifest.listing.objects},
                   {"objects_done", objects_done(manifest)},
                   {"objects_skipped", manifest.skipped.count},
                   {"objects_quarantined", manifest.quarantined.size()},
                   {"bytes", manifest.listing.bytes},
                   {"generation", manifest.generation},
                   {"updated", to_rfc3339(manifest.updated, 6)},
                   {"age_seconds", static_cast<double>(now - manifest.updated) / 1e6},
                   {"owner",
                    {{"host", printable(manifest.owner.host)},
                     {"pid", manifest.owner.pid},
                     {"started", to_rfc3339(manifest.owner.started)},
                     {"heartbeat", to_rfc3339(manifest.owner.heartbeat)},
                     {"released", manifest.owner.released}}},
                   {"lanes", std::move(lanes)}};
  if (!manifest.quarantined.empty()) {
    Json& aside = document["quarantined"] = Json::array();
    for (std::size_t i = 0; i < std::min(most_aside, manifest.quarantined.size()); ++i) {
      aside.push_back(aside_json(manifest.quarantined[i]));
    }
  }
  if (manifest.identity.shard) {
    document["shard"] = {{"index", manifest.identity.shard->index}, {"count", manifest.identity.shard->count}};
  }
  if (manifest.whole) {
    document["whole_listing"] = {{"objects", manifest.whole->objects}, {"hash", to_hex(manifest.whole->hash)}};
  }
  return document;
}

std::string text_of(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string status_json(const Manifest& manifest, const std::string& manifest_url, UnixMicros now,
                        std::size_t most_aside) {
  return text_of(document_of(manifest, manifest_url, now, most_aside));
}

std::string shards_json(const std::vector<ShardStatus>& shards, UnixMicros now) {
  std::string url;
  bool complete = true;
  std::uint64_t done = 0;
  Json each = Json::array();
  for (const ShardStatus& shard : shards) {
    complete = complete && shard.manifest && shard.manifest->complete;
    if (!shard.manifest) {
      each.push_back(nullptr);
      continue;
    }
    url = printable(shard.manifest->identity.url);
    done += objects_done(*shard.manifest);
    each.push_back(document_of(*shard.manifest, shard.url, now, kMostQuarantined));
  }
  return text_of(Json{{"url", url},
                      {"shards", shards.size()},
                      {"complete", complete},
                      {"objects", latest_whole(shards).value_or(WholeListing{}).objects},
                      {"objects_done", done},
                      {"same_listing", same_whole(shards)},
                      {"shard", std::move(each)}});
}

}  // namespace millrace::s3_source
