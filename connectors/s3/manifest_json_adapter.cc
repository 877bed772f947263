// SPDX-License-Identifier: Apache-2.0
// The manifest as JSON, through nlohmann/json, whose exceptions end here.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "connectors/s3/base64.h"
#include "connectors/s3/bytes_json.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/options.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

using Json = nlohmann::ordered_json;

Error wrong(std::string_view field, std::string_view why) {
  return Error::fatal(ErrorCode::manifest, fmt::format("field '{}' {}", field, why));
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    default:
      return "something else";
  }
}

/// Reads the fields of one object, by name and type; the first thing that is wrong is kept and ends up in done().
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object())
      error_ = wrong(path_.empty() ? "manifest" : path_, fmt::format("is {}, not an object", kind_of(json_)));
  }

  void number(std::string_view name, std::uint64_t& out, std::uint64_t most = INT64_MAX) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return set(name, fmt::format("is {}, not an integer from 0", shown(*value)));
    out = value->get<std::uint64_t>();
    if (out > most) set(name, fmt::format("is {}; at most {} has a meaning", out, most));
  }
  void flag(std::string_view name, bool& out) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return set(name, fmt::format("is {}, not true or false", shown(*value)));
    out = value->get<bool>();
  }
  void text(std::string_view name, std::string& out) {
    if (const Json* value = find(name)) text_of(*value, full(name), out);
  }
  /// A text that is left out where there is none.
  void text_if_set(std::string_view name, std::string& out) {
    if (!has(name)) return;
    text(name, out);
    if (!error_ && out.empty()) set(name, "is empty; it is left out where it is not set");
  }
  void bytes(std::string_view name, std::string& out) {
    if (const Json* value = find(name)) bytes_of(*value, full(name), out);
  }
  void byte_strings(std::string_view name, std::vector<std::string>& out) {
    each(name, [&](const Json& item, const std::string& path) { bytes_of(item, path, out.emplace_back()); });
  }
  void hash(std::string_view name, std::uint64_t& out) {
    std::string digits;
    text(name, digits);
    if (error_) return;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    if (digits != to_hex(out) || problem != std::errc() || end != digits.data() + digits.size()) {
      set(name, fmt::format("is '{}', not 16 lower-case hex digits", printable(digits, 40)));
    }
  }
  void time(std::string_view name, UnixMicros& out) {
    std::string digits;
    text(name, digits);
    if (error_) return;
    const auto parsed = parse_time(digits);
    if (!parsed)
      return set(name, fmt::format("is '{}', not a time like 2026-07-01T12:00:00.000000Z", printable(digits, 40)));
    out = *parsed;
  }
  /// `read(json, path)` for each item of an array.
  template <class Read>
  void each(std::string_view name, Read read) {
    const Json* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return set(name, fmt::format("is {}, not an array", shown(*value)));
    for (std::size_t i = 0; i < value->size() && !error_; ++i) read((*value)[i], fmt::format("{}[{}]", full(name), i));
  }
  /// `read(fields)` for an object inside.
  template <class Read>
  void inside(std::string_view name, Read read) {
    const Json* value = find(name);
    if (value == nullptr) return;
    Fields inner(*value, full(name));
    if (!inner.error_) read(inner);
    if (auto done = inner.done(); !done) keep(std::move(done).error());
  }
  [[nodiscard]] bool has(std::string_view name) const { return !error_ && json_.contains(name); }
  void keep(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void set(std::string_view name, std::string_view why) { keep(wrong(full(name), why)); }
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  /// Fails with what was wrong, or with a field that nobody asked for.
  Result<void> done() {
    if (error_) return fail(*std::move(error_));
    for (const auto& [name, value] : json_.items()) {
      if (std::ranges::find(asked_, name) == asked_.end()) {
        return fail(wrong(full(printable(name, 100)), "is unknown to schema 1"));
      }
    }
    return {};
  }

 private:
  const Json* find(std::string_view name) {
    if (error_) return nullptr;
    asked_.emplace_back(name);
    const auto found = json_.find(name);
    if (found == json_.end()) {
      set(name, "is missing");
      return nullptr;
    }
    return &*found;
  }
  void text_of(const Json& value, const std::string& path, std::string& out) {
    if (!value.is_string()) return keep(wrong(path, fmt::format("is {}, not a string", shown(value))));
    out = value.get<std::string>();
  }
  void bytes_of(const Json& value, const std::string& path, std::string& out) {
    if (!value.is_object()) return text_of(value, path, out);
    Fields inner(value, path);
    std::string encoded;
    inner.text("base64", encoded);
    if (auto done = inner.done(); !done) return keep(std::move(done).error());
    auto decoded = from_base64(encoded);
    if (!decoded) return keep(wrong(path, "holds what is not base64"));
    out = *std::move(decoded);
  }
  [[nodiscard]] std::string full(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  static std::string shown(const Json& value) {
    if (value.is_structured()) return std::string(kind_of(value));
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("{} ({})", kind_of(value), printable(text, 60));
  }

  const Json& json_;
  const std::string path_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

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

void read_kept_listing(Fields& f, ListingRecord& kept) {
  f.text("name", kept.name);
  f.number("bytes", kept.bytes);
  f.hash("hash", kept.hash);
  if (!f.failed() && kept.name.find('/') != std::string::npos) {
    f.set("name",
          fmt::format("is '{}'; it stands beside the manifest, so no slash has a meaning", printable(kept.name, 100)));
  }
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
    return fail(wrong("schema", fmt::format("is {}; this program reads {}{}", schema, kManifestSchema,
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
  f.inside("kept_listing", [&](Fields& inner) { read_kept_listing(inner, manifest.kept_listing); });
  f.each("positions", [&](const Json& item, const std::string& path) {
    LanePosition at;
    Fields inner(item, path);
    read_position(inner, manifest, at);
    if (auto done = inner.done(); !done) return f.keep(std::move(done).error());
    manifest.positions.push_back(std::move(at));
  });
  if (f.has("skipped")) f.inside("skipped", [&](Fields& inner) { read_skipped(inner, manifest.skipped); });
  f.inside("owner", [&](Fields& inner) { read_owner(inner, manifest.owner); });
  MILLRACE_TRY(f.done());
  return manifest;
}

/// Junk of brackets would cost the parser far more memory than its own length.
bool nested_too_deep(std::string_view json) {
  constexpr int kDeepest = 16;  // the grammar needs 4
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
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
            {"kept_listing",
             {{"name", manifest.kept_listing.name},
              {"bytes", manifest.kept_listing.bytes},
              {"hash", to_hex(manifest.kept_listing.hash)}}},
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
  if (manifest.skipped.count > 0) {
    json["skipped"] = {{"count", manifest.skipped.count}, {"keys", byte_strings_json(manifest.skipped.keys)}};
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
  if (nested_too_deep(json)) return fail(Error::fatal(ErrorCode::manifest, "it is not a manifest: nested too deep"));
  try {
    std::vector<std::set<std::string>> keys;  // of the objects that are open
    std::string twice;
    const Json tree = Json::parse(json, [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && twice.empty()) {
        twice = parsed.get<std::string>();
      }
      return true;
    });
    if (!twice.empty()) return fail(wrong(printable(twice, 100), "stands there twice in one object"));
    return read_manifest(tree);
  } catch (const Json::exception& problem) {
    return fail(
        Error::fatal(ErrorCode::manifest, fmt::format("it is not valid JSON: {}", printable(problem.what(), 300))));
  }
}

std::string to_json(const Manifest& manifest) {
  return manifest_json(manifest).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::s3_source
