// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/inspection.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "connectors/s3/kept_listing.h"
#include "connectors/s3/lister.h"
#include "connectors/s3/manifest_file.h"
#include "connectors/s3/options.h"
#include "connectors/s3/status.h"

namespace millrace::s3_source {
namespace {

/// The settings of a configuration, and the store of its manifest.
struct Inspected {
  Settings settings;
  std::shared_ptr<ObjectStore> store;
  StopSignal stop;  // nobody asks for it: whoever waits too long ends the program

  [[nodiscard]] Result<void> open(const ConfigSection& section, const BuildContext& context) {
    MILLRACE_ASSIGN(S3SourceOptions options, S3Source::schema().parse(section));
    MILLRACE_ASSIGN(settings, settle(std::move(options)));
    MILLRACE_ASSIGN(store, open_store(settings.checkpoint_url, settings.checkpoint_store, of(context)));
    return {};
  }
  [[nodiscard]] static StoreContext of(const BuildContext& context) {
    return {context.clock, context.random, context.log};
  }
  [[nodiscard]] std::string url() const { return settings.checkpoint_url.to_string(); }
  [[nodiscard]] Result<std::optional<Manifest>> manifest(const BuildContext& context) {
    ManifestFile file(store,
                      {.key = settings.checkpoint_url.key,
                       .url = url(),
                       .timeout = settings.given.checkpoint.timeout,
                       .retry = settings.retry,
                       .store_unset = settings.store_unset()},
                      {}, *context.clock, *context.random, context.log, stop);
    return file.load();
  }
  [[nodiscard]] Result<Listing> list(const BuildContext& context) {
    MILLRACE_ASSIGN(auto source, open_store(settings.url, settings.store, of(context)));
    Lister lister(*source,
                  {.url = settings.url.to_string(),
                   .prefix = settings.url.key,
                   .start_after = settings.given.start_after,
                   .filter = &settings.filter},
                  settings.retry, *context.clock, *context.random, context.log, stop);
    return lister.run();
  }
};

}  // namespace

Result<std::string> read_status(const ConfigSection& section, const BuildContext& context, bool json) {
  Inspected inspected;
  MILLRACE_TRY(inspected.open(section, context));
  MILLRACE_ASSIGN(const auto manifest, inspected.manifest(context));
  const std::string url = inspected.url();
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
  MILLRACE_ASSIGN(const auto manifest, inspected.manifest(context));
  if (!manifest || manifest->kept_listing.name.empty()) {
    return fail(Error::fatal(
        ErrorCode::manifest,
        fmt::format("{} at {}, so there is nothing to compare with",
                    manifest ? "no listing is kept beside the manifest" : "there is no manifest", inspected.url())));
  }
  MILLRACE_ASSIGN(const Listing now, inspected.list(context));
  KeptListing kept(inspected.store, inspected.settings.checkpoint_url.key, inspected.url(),
                   inspected.settings.given.checkpoint.timeout);
  ListingDifference difference;
  MILLRACE_TRY(kept.each_change(manifest->kept_listing, now, [&](ObjectChange change) {
    auto written = write(change_json(change));
    difference.add(std::move(change));
    return written;
  }));
  return write(change_total_json(difference, inspected.url()));
}

}  // namespace millrace::s3_source
