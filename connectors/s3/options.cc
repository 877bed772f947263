// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "connectors/s3/codec_choice.h"
#include "connectors/s3/kept_listing.h"
#include "connectors/s3/receipt_file.h"
#include "millrace/base/printable.h"
#include "millrace/config/values.h"
#include "millrace/framing/formats.h"
#include "millrace/store/check_store.h"

namespace millrace {

namespace s3_source {
namespace {

// How long a store that is away is given once it has worked, unless `retry_timeout` says otherwise.
constexpr Duration kPatience = std::chrono::minutes(3);

/// Adds problems, each with the path of its key.
class Findings {
 public:
  Findings(const std::string& path, const WhereIsKey& where, ConfigProblems& problems)
      : prefix_(path.empty() ? "" : path + "."), where_(where), problems_(problems) {}
  void add(std::string_view key, std::string_view text) {
    problems_.add(where_(key), fmt::format("{}{}: {}", prefix_, key, text));
  }
  /// Of a section that stands beside this one.
  void add_beside(std::string_view key, std::string_view text) { problems_.add("", fmt::format("{}: {}", key, text)); }
  template <class T>
  std::optional<T> take(std::string_view key, Result<T> result) {
    if (result) return *std::move(result);
    add(key, result.error().message());
    return std::nullopt;
  }
  void in_range(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) add(key, fmt::format("{} is not in {} to {}", value, least, most));
  }

 private:
  const std::string prefix_;
  const WhereIsKey& where_;
  ConfigProblems& problems_;
};

void check_ranges(const S3SourceOptions& options, Findings& findings) {
  // The schema checks these for YAML already; options made in code meet them here.
  findings.in_range("lanes", options.lanes, 1, kMaxLanes);
  findings.in_range("requests_in_flight", options.requests_in_flight, 1, kMaxRequestsInFlight);
  findings.in_range("chunk_bytes", options.chunk_bytes.bytes, 1, std::uint64_t{1} << 30U);
  findings.in_range("max_record_bytes", options.max_record_bytes.bytes, 1, std::uint64_t{1} << 31U);
  findings.in_range("zstd_window_log_max", static_cast<std::uint64_t>(options.zstd_window_log_max), 10, 31);
  findings.in_range("xz_memory_limit", options.xz_memory_limit.bytes, std::uint64_t{1} << 20U,
                    std::uint64_t{16} << 30U);
  if (const auto codec = codec_of_setting(options.compression); codec && !codec_is_built(*codec)) {
    findings.add("compression", codec_not_built(*codec).message());
  }
  if (options.shard) {
    findings.in_range("shard.count", options.shard->count, 1, kMaxShards);
    findings.in_range("shard.index", options.shard->index, 0, std::max<std::uint64_t>(options.shard->count, 1) - 1);
  }
  if (options.checkpoint.timeout <= Duration::zero()) findings.add("checkpoint.timeout", "must be longer than nothing");
  if (options.checkpoint.owner_timeout <= Duration::zero()) {
    findings.add("checkpoint.owner_timeout", "must be longer than nothing");
  }
  if (options.prefetch_bytes < options.chunk_bytes) {
    findings.add("prefetch_bytes", fmt::format("{} is less than one chunk (chunk_bytes: {})",
                                               to_string(options.prefetch_bytes), to_string(options.chunk_bytes)));
  }
  if (options.lanes > 0 && options.prefetch_bytes.bytes > UINT64_MAX / 2 / options.lanes) {
    findings.add("prefetch_bytes", fmt::format("{} for each of {} lanes is more than any machine has",
                                               to_string(options.prefetch_bytes), options.lanes));
  }
}

/// `same`: both lie in one store, as far as can be told.
void check_urls(const std::optional<StoreUrl>& url, const std::optional<StoreUrl>& checkpoint, bool same,
                Findings& findings) {
  if (!checkpoint) return;
  if (checkpoint->key.empty() || checkpoint->key.ends_with('/')) {
    findings.add("checkpoint.url",
                 fmt::format("{} names no object; give the manifest's own key, such as {}{}backfill.json",
                             checkpoint->to_string(), checkpoint->to_string(),
                             checkpoint->to_string().ends_with('/') ? "" : "/"));
    return;
  }
  if (!url || !same) return;
  const std::string listing = listing_key(checkpoint->key);
  if (checkpoint->key.starts_with(url->key)) {
    findings.add("checkpoint.url",
                 fmt::format("{} lies under the source's own prefix {} and would be listed as input; keep the manifest "
                             "elsewhere, in another folder or bucket",
                             checkpoint->to_string(), url->to_string()));
  } else if (listing.starts_with(url->key)) {
    findings.add("checkpoint.url",
                 fmt::format("the listing that is kept beside {}, {}, would lie under the source's own prefix {}; keep "
                             "the manifest in another folder or bucket",
                             checkpoint->to_string(), printable(listing), url->to_string()));
  }
}

/// Nothing when something is wrong; all of that is added.
std::optional<ObjectLimits> check_limits(const S3SourceOptions& options, Findings& findings) {
  ObjectLimits limits;
  if (options.min_size) limits.min_size = options.min_size->bytes;
  if (options.max_size) limits.max_size = options.max_size->bytes;
  const auto time = [&](std::string_view key, const std::string& text) -> std::optional<UnixMicros> {
    return text.empty() ? std::nullopt : findings.take(key, parse_rfc3339(text));
  };
  limits.modified_after = time("modified_after", options.modified_after);
  limits.modified_before = time("modified_before", options.modified_before);
  bool fit = options.modified_after.empty() != limits.modified_after.has_value() &&
             options.modified_before.empty() != limits.modified_before.has_value();
  if (limits.min_size && limits.max_size && *limits.min_size > *limits.max_size) {
    findings.add("max_size", fmt::format("{} is less than min_size: {}; no object is both",
                                         to_string(*options.max_size), to_string(*options.min_size)));
    fit = false;
  }
  if (limits.modified_after && limits.modified_before && *limits.modified_after >= *limits.modified_before) {
    findings.add("modified_before", fmt::format("{} is not later than modified_after: {}; no object is both",
                                                printable(options.modified_before), printable(options.modified_after)));
    fit = false;
  }
  return fit ? std::optional(limits) : std::nullopt;
}

/// As the identity has it, whatever way it was written.
SourceIdentity::Limits identity_of(const ObjectLimits& limits) {
  const auto size = [](const std::optional<std::uint64_t>& bytes) { return bytes ? fmt::format("{}", *bytes) : ""; };
  const auto time = [](const std::optional<UnixMicros>& at) { return at ? to_rfc3339(*at, 6) : ""; };
  return {size(limits.min_size), size(limits.max_size), time(limits.modified_after), time(limits.modified_before)};
}

/// The one byte of `text`, where it can be told from all that rows are made of besides.
std::optional<char> csv_byte(std::string_view key, const std::string& text, Findings& findings) {
  const auto byte = text.size() == 1 ? static_cast<unsigned char>(text[0]) : 0U;
  if (byte != 0 && byte < 0x80 && byte != '\n' && byte != '\r') return text[0];
  findings.add(key, fmt::format("'{}' is not one ASCII character other than a line end", printable(text)));
  return std::nullopt;
}

CsvDialect examine_csv(const S3SourceOptions& options, Findings& findings) {
  CsvDialect dialect;
  dialect.delimiter = csv_byte("csv.delimiter", options.csv.delimiter, findings).value_or(dialect.delimiter);
  dialect.quote = csv_byte("csv.quote", options.csv.quote, findings).value_or(dialect.quote);
  if (dialect.delimiter == dialect.quote) findings.add("csv.quote", "is the delimiter; it has to be another character");
  if (options.format != "csv" && dialect != CsvDialect{}) {
    findings.add("csv", fmt::format("says how format: csv is spelled, but format is '{}'", printable(options.format)));
  }
  return dialect;
}

/// As the manifest keeps it: another dialect makes other records of the same bytes.
std::string format_of_identity(const std::string& format, CsvDialect dialect) {
  if (format != "csv" || dialect == CsvDialect{}) return format;
  return fmt::format("csv, delimiter '{}', quote '{}'", printable({&dialect.delimiter, 1}),
                     printable({&dialect.quote, 1}));
}

/// The section stands beside the source's, so its problems are told under its own name.
void check_receipt(const Result<StoreUrl>& receipt, const Result<StoreOptions>& store,
                   const std::optional<StoreUrl>& url, const std::optional<StoreUrl>& checkpoint_url,
                   Findings& findings) {
  if (!receipt) return findings.add_beside("receipt.url", receipt.error().message());
  if (!store) return findings.add_beside("receipt.store", store.error().message());
  if (receipt->key.empty() || receipt->key.ends_with('/')) {
    return findings.add_beside("receipt.url", fmt::format("'{}' names no object; give the receipt a name, as in "
                                                          "s3://bucket/receipts/july.ndjson.zst",
                                                          receipt->to_string()));
  }
  if (url && url->same_store(*receipt) && receipt->key.starts_with(url->key)) {
    findings.add_beside("receipt.url", fmt::format("'{}' lies under the source's prefix {}, so the next run would read "
                                                   "it; put it elsewhere",
                                                   receipt->to_string(), url->to_string()));
  }
  if (!checkpoint_url) return;
  if (checkpoint_url->same_store(*receipt) && checkpoint_url->key == receipt->key) {
    findings.add_beside("receipt.url", fmt::format("'{}' is the manifest's own url; give the receipt another name",
                                                   receipt->to_string()));
  }
  const std::string parts = receipt_part_front(checkpoint_url->key);
  if (checkpoint_url->same_store(*receipt) &&
      (receipt->key == listing_key(checkpoint_url->key) || receipt->key.starts_with(parts))) {
    findings.add_beside("receipt.url", fmt::format("'{}' is a name that is kept for what lies beside the manifest {}; "
                                                   "give the receipt another",
                                                   receipt->to_string(), checkpoint_url->to_string()));
  }
  if (url && url->same_store(*checkpoint_url) && (parts.starts_with(url->key) || url->key.starts_with(parts))) {
    findings.add_beside("receipt.url",
                        fmt::format("until it is finished its parts lie beside the manifest, as {}..., which is under "
                                    "the source's prefix {}; keep the manifest in another folder or bucket",
                                    printable(parts), url->to_string()));
  }
}

/// Each key of `store` that would have no effect: the source's own store says how often it is tried, and what is
/// written beside it is tried again for as long as the run goes on.
void refuse_retries(std::string_view key, const Result<StoreOptions>& store, auto add) {
  for (const char* name : {"max_retries", "retry_timeout"}) {
    if (!store || !store->has(name)) continue;
    add(key, fmt::format("{} has no effect here: reads are tried as often as source.s3.store says, and a save is tried "
                         "again until the run ends (checkpoint.stalled_fail_after)",
                         name));
  }
}

/// Everything that check() judges, made on the way.
Settings examine(S3SourceOptions options, Findings& findings) {
  Settings settings;
  check_ranges(options, findings);
  auto url = findings.take("url", StoreUrl::parse(options.url));
  auto checkpoint_url = findings.take("checkpoint.url", StoreUrl::parse(options.checkpoint.url));
  if (options.shard) settings.identity.shard = Shard{options.shard->index, options.shard->count};
  if (checkpoint_url) {
    settings.checkpoint_base = *checkpoint_url;
    // What is no object's name is refused below, as it was given.
    const bool names_object = !checkpoint_url->key.empty() && !checkpoint_url->key.ends_with('/');
    if (settings.identity.shard && names_object) *checkpoint_url = settings.checkpoint_of(*settings.identity.shard);
  }
  auto store = findings.take("store", StoreOptions::parse(options.store));
  auto checkpoint_given = StoreOptions::parse(options.checkpoint.store);
  refuse_retries("checkpoint.store", checkpoint_given, [&](auto key, const auto& text) { findings.add(key, text); });
  auto checkpoint_store = findings.take("checkpoint.store", std::move(checkpoint_given));
  if (store && checkpoint_store && url && checkpoint_url) {
    settings.one_store = checkpoint_store->empty() && url->same_store(*checkpoint_url);
    if (settings.one_store) checkpoint_store = store;
    check_urls(url, checkpoint_url, same_store(*url, *store, *checkpoint_url, *checkpoint_store), findings);
    if (auto fits = check_store(*url, *store); !fits) findings.add("store", fits.error().message());
    auto fits = settings.one_store ? Result<void>() : check_store(*checkpoint_url, *checkpoint_store);
    if (!fits) findings.add("checkpoint.store", fits.error().message());
  } else {
    check_urls(url, checkpoint_url, url && checkpoint_url && url->same_store(*checkpoint_url), findings);
  }
  auto receipt_url = options.receipt.url.empty() ? Result<StoreUrl>(StoreUrl()) : StoreUrl::parse(options.receipt.url);
  auto receipt_store = StoreOptions::parse(options.receipt.store);
  refuse_retries("receipt.store", receipt_store, [&](auto key, const auto& text) { findings.add_beside(key, text); });
  if (!options.receipt.url.empty()) check_receipt(receipt_url, receipt_store, url, checkpoint_url, findings);
  auto filter = KeyFilter::make(options.include, options.exclude);
  if (!filter) findings.add("include and exclude", filter.error().message());
  // It would leave out nothing, or everything.
  if (url && !options.start_after.empty() && !options.start_after.starts_with(url->key)) {
    findings.add("start_after", fmt::format("'{}' is no key below the url: keys begin with '{}' here",
                                            printable(options.start_after), printable(url->key)));
  }
  const auto limits = check_limits(options, findings);
  settings.framer = framer_of_format(options.format);
  if (settings.framer == nullptr) {
    std::string known;
    for (const std::string_view format : framed_formats())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", format);
    findings.add("format", fmt::format("'{}' is not a format; known: {}", options.format, known));
  }
  settings.csv = examine_csv(options, findings);
  const bool urls = url && checkpoint_url && receipt_url;
  const bool stores = store && checkpoint_store && receipt_store;
  if (!urls || !stores || !filter || !limits) return settings;

  settings.store = *std::move(store);
  settings.checkpoint_store = *std::move(checkpoint_store);
  settings.receipt = !options.receipt.url.empty();
  settings.receipt_url = *std::move(receipt_url);
  if (settings.identity.shard) {
    settings.receipt_url.key = shard_receipt_key(settings.receipt_url.key, *settings.identity.shard);
  }
  settings.receipt_store = *std::move(receipt_store);
  settings.filter = *std::move(filter);
  settings.limits = *limits;
  settings.identity.url = url->to_string();
  settings.identity.format = format_of_identity(options.format, settings.csv);
  settings.identity.compression = name_of(options.compression);
  settings.identity.include = options.include;
  settings.identity.exclude = options.exclude;
  settings.identity.start_after = options.start_after;
  settings.identity.limits = identity_of(*limits);
  settings.name = options.name.empty() ? settings.identity.default_name() : options.name;
  settings.url = *std::move(url);
  settings.checkpoint_url = *std::move(checkpoint_url);
  settings.given = std::move(options);
  return settings;
}

RetryPolicy retry_policy(const StoreOptions& store) {
  RetryPolicy policy;
  policy.patience = kPatience;
  if (store.has("max_retries")) {
    const std::string_view text = store.get("max_retries");
    std::from_chars(text.data(), text.data() + text.size(), policy.tries);
    ++policy.tries;  // the first try is none again
    policy.tries_are_final = true;
  }
  if (store.has("retry_timeout")) {
    policy.patience = store.duration("retry_timeout").value_or(policy.patience);
  }
  return policy;
}

}  // namespace

void check(const S3SourceOptions& options, const std::string& path, const WhereIsKey& where, ConfigProblems& problems) {
  Findings findings(path, where, problems);
  (void)examine(options, findings);
}

StoreUrl Settings::checkpoint_of(const Shard& shard) const {
  StoreUrl own = checkpoint_base;
  own.key = shard_key(own.key, shard);
  return own;
}

Result<Settings> settle(S3SourceOptions options) {
  ConfigProblems problems;
  const std::string path = "source.s3";
  const WhereIsKey where = [](std::string_view) { return std::string(); };
  Findings findings(path, where, problems);
  Settings settings = examine(std::move(options), findings);
  MILLRACE_TRY(problems.result());
  settings.retry = retry_policy(settings.store);
  return settings;
}

std::string replay_gap(const S3SourceOptions& options) {
  if (options.frozen != Frozen::strict)
    return "objects that come between two runs move the offsets of others; set source.s3.frozen: strict";
  if (options.on_object_error == OnObjectError::quarantine)
    return "what is set aside is read later, under offsets that are passed by then; leave out "
           "source.s3.on_object_error";
  if (options.on_archived == OnArchived::skip)
    return "an archived object that is restored would be read under offsets that are passed; leave out "
           "source.s3.on_archived";
  return {};
}

}  // namespace s3_source

}  // namespace millrace
