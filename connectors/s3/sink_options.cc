// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "connectors/s3/columnar_options.h"
#include "connectors/s3/complaints.h"
#include "connectors/s3/sink_format.h"
#include "millrace/base/printable.h"
#include "millrace/store/check_store.h"

namespace millrace::s3_sink {
namespace {

using Options = S3SinkOptions;

constexpr std::string_view kDefaultProbe = ".millrace-probe";
constexpr Duration kLongestBackoff = std::chrono::seconds(60);

std::string without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

bool has_dot_segment(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    begin = end + 1;
  }
  return false;
}

StoreUrl check_place(const Options& o, Complaints& complaints) {
  StoreUrl base;
  if (o.url.empty() == o.bucket.empty()) {
    complaints.about("url", o.url.empty()
                                ? "is missing; give url (s3://bucket/prefix or file:///folder/), or bucket and prefix"
                                : "and bucket name the place twice; keep one of them");
    return base;
  }
  if (!o.url.empty() && !o.prefix.empty())
    complaints.about("prefix", "belongs to bucket; with url it is part of the url");
  const std::string_view key = o.url.empty() ? "bucket" : "url";
  auto url = StoreUrl::parse(o.url.empty() ? "s3://" + o.bucket : o.url);
  if (url && o.url.empty() && !url->key.empty()) {
    complaints.about("bucket", "is a name without slashes; what follows it is the prefix");
  }
  if (!url) {
    complaints.about(key, url.error());
    return base;
  }
  base = *std::move(url);
  base.key = without_slashes(o.url.empty() ? o.prefix : base.key);
  if (has_dot_segment(base.key)) {
    complaints.about(o.url.empty() ? "prefix" : "url", "holds a '.' or '..' segment, which leads to other names");
  }
  return base;
}

/// The store map with the sink's own keys in it; each option under one name.
StoreOptions read_store(const Options& o, const StoreUrl& base, Complaints& complaints) {
  std::map<std::string, std::string> raw = o.store;
  bool twice = false;
  const auto put = [&](std::string_view key, std::string name, std::string value) {
    for (const auto& [spelling, given] : o.store) {
      if (StoreOptions::canonical_name(spelling) != name) continue;
      complaints.about(key, fmt::format("is the same option as store.{}; keep one of them", printable(spelling, 100)));
      twice = true;
      return;
    }
    raw.emplace(std::move(name), std::move(value));
  };
  if (!o.region.empty()) put("region", "region", o.region);
  if (!o.endpoint.empty()) put("endpoint", "endpoint", o.endpoint);
  if (o.path_style) put("path_style", "virtual_hosted_style_request", *o.path_style ? "false" : "true");
  if (!o.access_key_id.empty()) put("access_key_id", "access_key_id", o.access_key_id);
  if (!o.secret_access_key.empty()) put("secret_access_key", "secret_access_key", o.secret_access_key.reveal());
  if (!o.session_token.empty()) put("session_token", "session_token", o.session_token.reveal());
  if (twice) return {};
  const auto in_store = [&](std::string_view name) {
    return std::ranges::any_of(o.store,
                               [&](const auto& item) { return StoreOptions::canonical_name(item.first) == name; });
  };
  if (o.access_key_id.empty() != o.secret_access_key.empty() && !in_store("access_key_id") &&
      !in_store("secret_access_key")) {
    complaints.about(o.access_key_id.empty() ? "access_key_id" : "secret_access_key",
                     "is missing: give both access_key_id and secret_access_key, or neither");
    return {};
  }
  auto store = StoreOptions::parse(raw);
  if (!store) {
    complaints.about("store", store.error());
    return {};
  }
  for (const char* name : {"max_retries", "retry_timeout"}) {
    if (!store->has(name)) continue;
    complaints.about("store", fmt::format("store.{} is for sources; the sink's own max_attempts, retry_delay and "
                                          "on_upload_failure say how long it goes on",
                                          name));
  }
  if (auto fits = base.scheme.empty() ? Result<void>() : check_store(base, *store); !fits) {
    complaints.about("store", fits.error());
  }
  return *std::move(store);
}

/// compat iggy: the other limit would be read and never used.
void check_one_limit(const Options& o, Complaints& complaints) {
  const bool by_size = o.file_rotation == FileRotation::size;
  const std::string_view unused = by_size ? "max_messages_per_file" : "max_file_size";
  if (!complaints.given(unused) && !(by_size && o.max_messages_per_file != 0)) return;
  complaints.about(
      unused,
      "has no effect with compat iggy and this file_rotation; remove it, or compat, without which whichever "
      "limit is met first ends a file");
}

/// What goes with keys that keep records apart, and only with them.
void check_routing(const Options& o, const RouteSpec& route, Complaints& complaints) {
  if (route.empty()) {
    for (const std::string_view key : {"on_missing_field", "null_fallback"}) {
      if (!complaints.given(key)) continue;
      complaints.about(key, "has no effect without {key}, {header.NAME} or {field.NAME} in path_template; remove it");
    }
    if (o.rotate_on == RotateOn::none && o.max_open_files) {
      complaints.about(
          "max_open_files",
          "has no effect without rotate_on, or {key}, {header.NAME} or {field.NAME} in path_template; remove "
          "it");
    }
    return;
  }
  if (o.on_missing_field == RouteSpec::OnMissing::fail && complaints.given("null_fallback")) {
    complaints.about("null_fallback", "has no effect with on_missing_field fail; remove one of them");
  }
  if (route.on_missing == RouteSpec::OnMissing::fail) return;
  const std::string_view name = route.fallback;
  if (name.empty() || name.size() > route.max_value || !std::ranges::all_of(name, is_plain) || is_dots(name) ||
      (route.hides_dots && name.starts_with('.'))) {
    complaints.about("null_fallback",
                     fmt::format("is letters, digits, '.', '_' and '-', at most {} as any value under this prefix and "
                                 "path_template, and neither leads to another folder nor hides what is in it",
                                 route.max_value));
  }
}

void check_limits(const Options& o, Complaints& complaints) {
  if (o.file_rotation == FileRotation::messages && o.max_messages_per_file == 0) {
    complaints.about("max_messages_per_file", "is required with file_rotation messages, and at least 1");
  } else if (o.max_messages_per_file == 0 && complaints.given("max_messages_per_file")) {
    complaints.about("max_messages_per_file", "is at least 1; leave it out for no limit");
  }
  if (o.compat == Compat::iggy) check_one_limit(o, complaints);
  if (o.spool_dir.empty() && complaints.given("spool_limit")) {
    complaints.about("spool_limit", "has no effect without spool_dir; remove it");
  }
  check_compression(o, complaints);
}

void check_delivery(const Options& o, const KeyTemplate* keys, Complaints& complaints) {
  if (o.delivery == Delivery::at_least_once) return;
  const auto refuse = [&](std::string_view key, bool on, std::string_view why) {
    if (on) complaints.about(key, why);
  };
  refuse("compat", o.compat != Compat::none,
         "has no place beside delivery exactly_once, which its model does not have; remove one");
  refuse("if_exists", o.if_exists.value_or(IfExists::verify) != IfExists::verify,
         "must be verify with delivery exactly_once, where a replay finds its own objects by their bytes");
  refuse("time_source", o.time_source != TimeSource::message,
         "must be message with delivery exactly_once: a replay comes at another time, and would make other keys");
  refuse("path_template", keys != nullptr && keys->pattern().has(KeyPattern::Variable::uuid),
         "holds {uuid}, with which a replay makes other keys, so delivery exactly_once does without");
  refuse("on_upload_failure", o.on_upload_failure == OnWriteFailure::drop,
         "must be stall or fail with delivery exactly_once: what is dropped is in no object");
  refuse("probe", !o.probe,
         "must be true with delivery exactly_once: whether the store keeps the condition of a put shows at the start");
}

void check_deadline(const Options& o, Complaints& complaints) {
  if (o.upload_deadline == Duration::zero() || o.on_upload_failure != OnWriteFailure::stall) return;
  complaints.about("upload_deadline",
                   "has a meaning with on_upload_failure fail or drop only; with stall a file is tried until it is "
                   "written");
}

/// Whether a replay makes the same files, so that nothing has to be kept of them.
bool ends_by_content(const SealPolicy& policy) {
  const bool one_file = !policy.routed && (policy.boundary == SealPolicy::Boundary::none || policy.max_open == 1);
  return policy.max_age == Duration::zero() && policy.max_idle == Duration::zero() && one_file;
}

/// How the files of a partition are told apart, in words.
std::string told_apart_by(const SealPolicy& policy, const Options& o) {
  const std::string_view time = policy.boundary == SealPolicy::Boundary::hour  ? "the hour"
                                : policy.boundary == SealPolicy::Boundary::day ? "the day"
                                                                               : "";
  if (!policy.routed) return std::string(time.empty() ? "nothing" : time);
  return fmt::format("{}{}the values in {} (name_encoding {}, null_fallback {})", time, time.empty() ? "" : " and ",
                     o.path_template, o.name_encoding == NameEncoding::percent ? "percent" : "replace",
                     o.null_fallback);
}

SealPolicy seal_policy(const Options& o, const KeyTemplate& keys) {
  const bool iggy = o.compat == Compat::iggy;
  SealPolicy policy;
  policy.max_bytes = o.max_file_size.bytes;
  policy.max_records = o.max_messages_per_file;
  if (iggy && o.file_rotation == FileRotation::messages) policy.max_bytes = 0;
  // A newline for each record; or a comma, and for the first the array's bracket.
  if (iggy && o.output_format != OutputFormat::raw) policy.uncounted = 1;
  policy.max_age = o.max_file_age.value_or(iggy ? Duration(0) : Duration(std::chrono::minutes(5)));
  policy.max_idle = o.max_file_idle;
  policy.boundary = o.rotate_on == RotateOn::hour  ? SealPolicy::Boundary::hour
                    : o.rotate_on == RotateOn::day ? SealPolicy::Boundary::day
                                                   : SealPolicy::Boundary::none;
  // By arrival nothing comes for an hour that has passed.
  policy.by_arrival = o.time_source == TimeSource::ingest;
  policy.max_open = o.max_open_files.value_or(!keys.route().empty() ? 64 : policy.by_arrival ? 1 : 8);
  // Parquet packs its own pages.
  if (o.output_format != OutputFormat::parquet)
    policy.compression = {codec_of(o.compression), static_cast<int>(o.compression_level.value_or(0))};
  policy.open_bytes = o.buffer_memory.bytes;
  policy.spool_dir = o.spool_dir;
  policy.spool_limit = o.spool_limit.bytes;
  policy.routed = !keys.route().empty();
  policy.per_object = keys.pattern().per_object();
  policy.by_content = o.delivery == Delivery::exactly_once && ends_by_content(policy);
  return policy;
}

}  // namespace

Result<CheckedOptions> check(const S3SinkOptions& o, const ConfigSection& at) {
  ConfigProblems problems;
  Complaints complaints(at, problems);
  StoreUrl base = check_place(o, complaints);
  StoreOptions store = read_store(o, base, complaints);
  check_format(o, complaints);
  check_limits(o, complaints);
  StoredAs as = check_stored_as(o, base, complaints);
  auto keys = KeyTemplate::parse({base.key, o.path_template, extension(o), o.name_encoding,
                                  /*hides_dots=*/base.scheme == "file", o.on_missing_field, o.null_fallback});
  if (base.scheme == "file" && (o.path_template.starts_with('.') || o.path_template.find("/.") != std::string::npos)) {
    complaints.about("path_template", "holds a name that begins with a dot, and files under it are never listed");
  }
  check_delivery(o, keys ? &*keys : nullptr, complaints);
  check_deadline(o, complaints);
  if (!keys) {
    complaints.about("path_template", keys.error());
  } else {
    check_routing(o, keys->route(), complaints);
  }
  std::string probe_key = without_slashes(o.probe_key);
  if (has_dot_segment(probe_key))
    complaints.about("probe_key", "holds a '.' or '..' segment, which leads to other names");
  if (!o.probe_key.empty() && !o.probe) complaints.about("probe_key", "has no effect with probe false; remove it");
  if (probe_key.empty())
    probe_key = base.key.empty() ? std::string(kDefaultProbe) : fmt::format("{}/{}", base.key, kDefaultProbe);
  if (auto result = problems.result(); !result) return fail(std::move(result).error());

  SealPolicy seal = seal_policy(o, *keys);
  CheckedOptions checked{
      .base = std::move(base),
      .store = std::move(store),
      .keys = *std::move(keys),
      .probe_key = std::move(probe_key),
      .probe = o.probe,
      .if_exists = o.if_exists.value_or(o.compat == Compat::iggy ? IfExists::overwrite : IfExists::verify),
      .delivery = o.delivery,
      .files_by = {},
      .time_source = o.time_source,
      .as = std::move(as),
      .cleanup_uploads = o.cleanup_uploads,
      .seal = std::move(seal),
      .envelope = {},
      .encode = encode_spec(o),
      .columns = columnar_options(o),
      .retry = {},
      .traits = {.concurrency = o.upload_concurrency, .ordered = false, .writes_time_out = true}};
  if (o.output_format == OutputFormat::json_array) checked.envelope = {"[", ",", "]"};
  checked.retry.backoff = {o.retry_delay, std::max(kLongestBackoff, o.retry_delay), 2.0};
  checked.retry.max_attempts = static_cast<int>(std::max<std::int64_t>(o.max_attempts, 1));
  checked.retry.deadline = o.upload_deadline;
  checked.retry.on_failure = o.on_upload_failure;
  if (o.delivery == Delivery::exactly_once && !checked.seal.by_content) {
    checked.files_by = told_apart_by(checked.seal, o);
    checked.traits.recalls = checked.traits.ordered = true;
  }
  return checked;
}

}  // namespace millrace::s3_sink
