// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/inspection.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "connectors/s3/as_quarantined.h"
#include "connectors/s3/kept_listing.h"
#include "connectors/s3/lister.h"
#include "connectors/s3/manifest_file.h"
#include "connectors/s3/options.h"
#include "connectors/s3/receipt_file.h"
#include "connectors/s3/status.h"
#include "connectors/s3/verification.h"

namespace millrace::s3_source {
namespace {

/// The settings of a configuration, and the store of its manifest.
struct Inspected {
  Settings settings;
  std::shared_ptr<ObjectStore> store;
  StopSignal stop;  // nobody asks for it: whoever waits too long ends the program

  [[nodiscard]] Result<void> open(const ConfigSection& section, const BuildContext& context) {
    MILLRACE_ASSIGN(S3SourceOptions options, S3Source::schema().parse(section));
    options.receipt = context.receipt;
    MILLRACE_ASSIGN(settings, settle(std::move(options)));
    MILLRACE_ASSIGN(store, open_store(settings.checkpoint_url, settings.checkpoint_store, of(context)));
    return {};
  }
  [[nodiscard]] static StoreContext of(const BuildContext& context) {
    return {context.clock, context.random, context.log};
  }
  /// Of this configuration, or of every shard of it: where the manifests are.
  [[nodiscard]] std::vector<StoreUrl> manifest_urls() const {
    const auto& shard = settings.identity.shard;
    if (!shard) return {settings.checkpoint_url};
    std::vector<StoreUrl> all;
    all.reserve(shard->count);
    for (std::uint64_t i = 0; i < shard->count; ++i) all.push_back(settings.checkpoint_of({i, shard->count}));
    return all;
  }
  [[nodiscard]] Result<std::optional<Manifest>> manifest(const StoreUrl& url, const BuildContext& context) {
    ManifestFile file(store,
                      {.key = url.key,
                       .url = url.to_string(),
                       .timeout = settings.given.checkpoint.timeout,
                       .retry = settings.retry,
                       .store_unset = settings.store_unset()},
                      {}, *context.clock, *context.random, context.log, stop);
    return file.load();
  }
  [[nodiscard]] Result<std::shared_ptr<ObjectStore>> receipt_store(const StoreUrl& url,
                                                                   const BuildContext& context) const {
    const Settings::StoreRole role = settings.role_of_receipt(url);
    if (role == Settings::StoreRole::own) return open_store(url, settings.receipt_store, of(context));
    if (role == Settings::StoreRole::checkpoint || settings.one_store) return store;
    return open_store(url, settings.store, of(context));
  }
  [[nodiscard]] Result<Listing> list(const BuildContext& context) {
    MILLRACE_ASSIGN(auto source, open_store(settings.url, settings.store, of(context)));
    Lister lister(*source,
                  {.url = settings.url.to_string(),
                   .prefix = settings.url.key,
                   .start_after = settings.given.start_after,
                   .filter = &settings.filter,
                   .limits = &settings.limits},
                  settings.retry, *context.clock, *context.random, context.log, stop);
    return lister.run();
  }
};

/// The objects of `all` that the manifest's run would have taken; nothing when it takes all, so that a listing of
/// millions is not held twice.
Result<std::optional<Listing>> part_of(const Listing& all, const std::optional<Shard>& shard) {
  if (!shard) return std::nullopt;
  ListingBuilder builder;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ListedObject object = all[i];
    if (!shard->takes(object.key)) continue;
    MILLRACE_TRY(builder.add({.key = std::string(object.key),
                              .size = object.size,
                              .etag = {std::string(object.etag)},
                              .last_modified = object.last_modified}));
  }
  return std::move(builder).finish();
}

/// Why there is nothing to compare with; empty when there is. An empty listing is not kept, and is one all the same.
std::string_view unknown_because(const std::optional<Manifest>& manifest) {
  if (!manifest) return "there is no manifest";
  const bool known = !manifest->kept_listing.name.empty() || manifest->listing.objects == 0;
  return known ? "" : "no listing is kept beside it yet";
}

Result<std::string> read_shards(Inspected& inspected, const BuildContext& context, bool json) {
  std::vector<ShardStatus> shards;
  bool any = false;
  for (const StoreUrl& url : inspected.manifest_urls()) {
    MILLRACE_ASSIGN(auto manifest, inspected.manifest(url, context));
    any = any || manifest;
    shards.push_back({url.to_string(), std::move(manifest)});
  }
  if (!any) {
    return json ? std::string("{\"manifest\":null}")
                : fmt::format("no manifest of any of {} shards at {}: nothing was run yet\n", shards.size(),
                              inspected.settings.checkpoint_base.to_string());
  }
  const UnixMicros now = context.clock->unix_micros();
  return json ? shards_json(shards, now) + "\n" : shards_text(shards, now);
}

}  // namespace

Result<std::string> read_status(const ConfigSection& section, const BuildContext& context, bool json) {
  Inspected inspected;
  MILLRACE_TRY(inspected.open(section, context));
  if (inspected.settings.identity.shard) return read_shards(inspected, context, json);
  const std::string url = inspected.settings.checkpoint_url.to_string();
  MILLRACE_ASSIGN(const auto manifest, inspected.manifest(inspected.settings.checkpoint_url, context));
  if (!manifest) {
    return json ? std::string("{\"manifest\":null}") : fmt::format("no manifest at {}: nothing was run yet\n", url);
  }
  const UnixMicros now = context.clock->unix_micros();
  return json ? status_json(*manifest, url, now) + "\n" : status_text(*manifest, url, now);
}

Result<void> report_drift(const ConfigSection& section, const BuildContext& context,
                          const std::function<Result<void>(std::string_view)>& write) {
  Inspected inspected;
  MILLRACE_TRY(inspected.open(section, context));
  std::optional<Listing> now;  // listed once, and only if something is known to compare with
  std::string not_compared;
  for (const StoreUrl& url : inspected.manifest_urls()) {
    MILLRACE_ASSIGN(const auto manifest, inspected.manifest(url, context));
    if (const std::string_view why = unknown_because(manifest); !why.empty()) {
      not_compared += not_compared_json(why, url.to_string());
      continue;
    }
    if (!now) {
      MILLRACE_ASSIGN(now, inspected.list(context));
    }
    ListingDifference difference;
    const auto tell = [&](ObjectChange change) {
      auto written = write(change_json(change));
      difference.add(std::move(change));
      return written;
    };
    MILLRACE_ASSIGN(std::optional<Listing> part, part_of(*now, manifest->identity.shard));
    if (!manifest->quarantined.empty()) {
      MILLRACE_ASSIGN(part, as_quarantined(part ? *part : *now, manifest->quarantined));
    }
    const Listing& objects = part ? *part : *now;
    if (manifest->kept_listing.name.empty()) {
      MILLRACE_TRY(each_change(pack(Listing()), objects, tell));
    } else {
      KeptListing kept(inspected.store, url.key, url.to_string(), inspected.settings.given.checkpoint.timeout);
      MILLRACE_TRY(kept.each_change(manifest->kept_listing, objects, tell));
    }
    MILLRACE_TRY(write(change_total_json(difference, url.to_string())));
  }
  if (now) return not_compared.empty() ? Result<void>() : write(not_compared);
  return fail(Error::fatal(ErrorCode::manifest,
                           fmt::format("there is no manifest at {} with a listing kept beside it, so there is nothing "
                                       "to compare with",
                                       inspected.settings.checkpoint_url.to_string())));
}

namespace {

/// One backfill, or one shard of it.
Result<Verification> verify_one(Inspected& inspected, const BuildContext& context, const StoreUrl& manifest_url,
                                const std::optional<Manifest>& manifest, const Listing& now) {
  Verification result;
  if (!manifest) {
    result.gap(fmt::format("there is no manifest at {}: nothing was run yet", manifest_url.to_string()));
  } else if (!manifest->receipt) {
    result.gap(fmt::format("the backfill of {} was not asked for a receipt", manifest_url.to_string()));
  } else if (!manifest->receipt->finished) {
    result.gap(fmt::format("the backfill of {} is not complete; run it to its end", manifest_url.to_string()));
  }
  if (!result.ok()) return result;
  MILLRACE_ASSIGN(const StoreUrl url, StoreUrl::parse(manifest->receipt->url));
  MILLRACE_ASSIGN(const auto store, inspected.receipt_store(url, context));
  const ReceiptFile file(inspected.store, store,
                         {.manifest_key = manifest_url.key,
                          .manifest_url = manifest_url.to_string(),
                          .key = url.key,
                          .url = url.to_string(),
                          .pipeline = context.pipeline,
                          .timeout = inspected.settings.given.checkpoint.timeout});
  Tries tries(inspected.settings.retry, *context.random);
  auto text = file.finished_text(manifest->receipt->at);
  while (!text) {
    const auto wait = tries.next(text.error(), context.clock->now());
    if (!wait || inspected.stop.wait(*context.clock, *wait)) break;
    text = file.finished_text(manifest->receipt->at);
  }
  if (!text && text.error().code() != ErrorCode::manifest) return fail(std::move(text).error());
  if (!text) {
    result.gap(text.error().message());
    return result;
  }
  MILLRACE_ASSIGN(const auto part, part_of(now, manifest->identity.shard));
  return verify_receipt(*text, part ? *part : now);
}

}  // namespace

Result<Verdict> verify(const ConfigSection& section, const BuildContext& context, bool json) {
  Inspected inspected;
  MILLRACE_TRY(inspected.open(section, context));
  if (!inspected.settings.receipt) {
    return fail(Error::config("there is no receipt to verify: add `receipt: {url: ...}` to the file, and run it"));
  }
  MILLRACE_ASSIGN(const Listing now, inspected.list(context));
  Verification all;
  std::uint64_t read = 0;
  std::vector<ShardStatus> shards;
  for (const StoreUrl& url : inspected.manifest_urls()) {
    MILLRACE_ASSIGN(auto manifest, inspected.manifest(url, context));
    MILLRACE_ASSIGN(const Verification one, verify_one(inspected, context, url, manifest, now));
    shards.push_back({url.to_string(), std::move(manifest)});
    for (const std::string& gap : one.told) all.gap(gap);
    all.gaps += one.gaps - one.told.size();
    read += one.total.read;
    all.total.records += one.total.records;
    all.total.fates.add(one.total.fates);
  }
  std::optional<std::string> apart;
  if (inspected.settings.identity.shard) apart = listings_apart(shards);
  return Verdict{all.ok(),
                 json ? verdict_json(all, now.size(), read, apart) : verdict_text(all, now.size(), read, apart)};
}

}  // namespace millrace::s3_source
