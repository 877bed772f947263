// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "connectors/s3/archived.h"
#include "connectors/s3/as_quarantined.h"
#include "connectors/s3/local_folder.h"
#include "millrace/store/check_store.h"

namespace millrace::s3_source {
namespace {

// Saves of a living owner are seconds apart; one that crosses every claim is at fault itself.
constexpr int kMostCrossings = 5;

constexpr std::string_view kWholeReport = "millrace status FILE --drift";

}  // namespace

bool all_complete(const std::vector<Position>& positions, const Listing& listing) {
  const std::uint64_t lanes = positions.size();
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t objects = listing.objects_of_lane(lane, lanes);
    if (objects == 0) continue;
    if (positions[lane].ordinal + 1 != objects || !positions[lane].object_complete()) return false;
  }
  return true;
}

Result<void> fits_lanes(std::uint64_t objects, std::uint64_t lanes, const std::string& url) {
  if ((objects + lanes - 1) / lanes <= kMaxObjectsPerLane) return {};
  return fail(Error::fatal(
      ErrorCode::limit,
      fmt::format(
          "{} has {} objects, which are more than {} for each of {} lanes: set lanes to {} or more, or read a part "
          "with include or shard. The lanes of a checkpoint are fixed: a backfill that has begun with {} starts over "
          "with --reset and an emptied output, or another checkpoint.url",
          url, objects, kMaxObjectsPerLane, lanes, (objects + kMaxObjectsPerLane - 1) / kMaxObjectsPerLane, lanes)));
}

Preparation::Preparation(Parts parts)
    : parts_(std::move(parts)),
      lister_(*parts_.store,
              {.url = parts_.settings->url.to_string(),
               .prefix = parts_.settings->url.key,
               .start_after = parts_.settings->given.start_after,
               .filter = &parts_.settings->filter,
               .limits = &parts_.settings->limits,
               .shard = parts_.settings->identity.shard},
              parts_.settings->retry, *parts_.clock, *parts_.random, parts_.log, *parts_.stop) {}

Preparation::~Preparation() { stop(); }

void Preparation::start() {
  thread_ = Thread("s3-prepare", [this] {
    auto result = run();
    {
      const MutexLock lock(mutex_);
      result_ = std::move(result);
      ended_ = true;
      changed_.notify_all();
    }
    parts_.done();
  });
}

std::optional<Result<Prepared>> Preparation::take() {
  const MutexLock lock(mutex_);
  if (result_ && *result_) claimed_.reset();
  return std::exchange(result_, std::nullopt);
}

void Preparation::stop(SteadyTime deadline) {
  parts_.stop->request();
  bool cut = false;
  std::optional<Result<Prepared>> untaken;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    while (claiming_ && parts_.clock->now() < deadline) parts_.clock->wait_until(changed_, mutex_, deadline);
    // Once the manifest is claimed nothing is left to wait for, and the store is needed for the goodbye.
    cut = thread_.joinable() && !ended_ && (claiming_ || !claimed_);
  }
  // Nobody has been given a lane, so nobody else needs the stores.
  if (cut) {
    parts_.store->cancel_all();
    parts_.file->cancel();
  }
  thread_.join();
  {
    const MutexLock lock(mutex_);
    untaken.swap(result_);
  }
  untaken.reset();  // its reads end
  say_goodbye(deadline);
}

/// Else whoever runs next would wait for a sign of life. One try.
void Preparation::say_goodbye(SteadyTime deadline) {
  std::optional<Manifest> claimed;
  {
    const MutexLock lock(mutex_);
    claimed.swap(claimed_);
    if (!claimed || claimed->owner.released) return;
    ended_ = false;
  }
  Thread goodbye("s3-goodbye", [&] {
    if (auto saved = parts_.file->save(*claimed, /*released=*/true); !saved) {
      parts_.log.warn("the manifest could not be released; the next run waits for a sign of life first",
                      {{"error", saved.error().describe()}});
    }
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
  bool in_time = false;
  {
    const MutexLock lock(mutex_);
    while (!ended_ && parts_.clock->now() < deadline) parts_.clock->wait_until(changed_, mutex_, deadline);
    in_time = ended_;
  }
  if (!in_time) parts_.file->cancel();
}

Result<Prepared> Preparation::run() {
  MILLRACE_TRY(check_local_folder(parts_.settings->url));
  // Whoever fails first ends the other: a wait for an owner, or ten minutes of pages.
  Result<std::optional<Manifest>> manifest;
  Thread acquiring("s3-manifest", [&] {
    manifest = parts_.file->acquire();
    if (!manifest) parts_.stop->request();
  });
  auto listing = list();
  if (!listing) parts_.stop->request();
  acquiring.join();
  if (!manifest && manifest.error().code() != ErrorCode::cancelled) return fail(std::move(manifest).error());
  if (!listing) return fail(std::move(listing).error());
  if (!manifest) return fail(std::move(manifest).error());
  const auto listed = std::make_shared<const Listing>(*std::move(listing));
  for (int round = 1;; ++round) {
    const auto generation = *manifest ? (*manifest)->generation : 0;
    auto prepared = deal(listed, *std::move(manifest));
    if (!prepared && parts_.file->options().take_over && round < kMostCrossings) {
      // The owner lives, so what the manifest named may have been replaced meanwhile.
      manifest = parts_.file->acquire();
      if (!manifest) return fail(std::move(manifest).error());
      if (*manifest && (*manifest)->generation != generation) continue;
    }
    if (!prepared || prepared->nothing_left) return prepared;
    prepared->fetch->start();
    auto claimed = claim(*prepared);
    if (claimed) return prepared;
    // With --take-over the owner lives, and its save may come between: then from where it is now.
    const bool crossed = claimed.error().code() == ErrorCode::fenced && parts_.file->options().take_over;
    if (!crossed || round == kMostCrossings) return fail(std::move(claimed).error());
    manifest = parts_.file->acquire();
    if (!manifest) return fail(std::move(manifest).error());
  }
}

Result<Listing> Preparation::list() {
  const Settings& settings = *parts_.settings;
  parts_.log.info("listing", {{"url", settings.url.to_string()}, {"at", server_text(settings.url, settings.store)}});
  MILLRACE_ASSIGN(Listing listing, lister_.run());
  MILLRACE_TRY(look_over(listing));
  MILLRACE_TRY(ask_archived(listing));
  return listing;
}

/// What a listing alone tells about the run to come.
Result<void> Preparation::look_over(const Listing& listing) {
  const S3SourceOptions& given = parts_.settings->given;
  const std::string url = parts_.settings->url.to_string();
  const ListingCounts& counts = listing.counts();
  parts_.metrics.objects_listed.add(listing.size());
  parts_.log.info("listed", {{"url", url},
                             {"objects", fmt::format("{}", listing.size())},
                             {"bytes", fmt::format("{}", listing.bytes())},
                             {"keys", fmt::format("{}", counts.listed)},
                             {"filtered", fmt::format("{}", counts.filtered)},
                             {"markers", fmt::format("{}", counts.markers)},
                             {"empty", fmt::format("{}", counts.empty)},
                             {"archived", fmt::format("{}", counts.archived)}});
  const auto& shard = parts_.settings->identity.shard;
  if (shard) {
    parts_.log.info("taking one shard of what was listed",
                    {{"shard", shard->describe()}, {"of_objects", fmt::format("{}", lister_.whole().objects)}});
  }
  if (shard && listing.size() == 0 && lister_.whole().objects > 0) {
    parts_.log.info("none of the objects falls to this shard: nothing to do", {{"shard", shard->describe()}});
  } else if (listing.size() == 0) {
    std::string message = fmt::format(
        "no object to read under {}: {} keys listed, {} of them filtered out by include, "
        "exclude, start_after, sizes and times; check the url (a prefix is a string)",
        url, counts.listed, counts.filtered);
    if (given.on_empty == OnEmpty::fail) {
      return fail(Error::fatal(ErrorCode::not_found, message + ", or allow it with on_empty: warn"));
    }
    parts_.log.warn(message);
  }
  MILLRACE_TRY(fits_lanes(listing.size(), given.lanes, url));
  if (const std::string siblings = sibling_prefixes(listing, parts_.settings->url.key); !siblings.empty()) {
    parts_.log.warn(
        "the prefix does not end in a slash, so it also takes what only begins like it; add the slash if the "
        "folder alone is meant",
        {{"url", url}, {"also", siblings}});
  }
  return {};
}

Result<void> Preparation::ask_archived(const Listing& listing) {
  const S3SourceOptions& given = parts_.settings->given;
  if (listing.counts().archived == 0 || given.on_archived != OnArchived::fail) return {};
  return check_archived(*parts_.store, listing, parts_.url_base, parts_.settings->retry, given.requests_in_flight,
                        *parts_.clock, *parts_.random, *parts_.stop);
}

Result<Prepared> Preparation::deal(std::shared_ptr<const Listing> listing, std::optional<Manifest> manifest) {
  const S3SourceOptions& given = parts_.settings->given;
  std::optional<WholeListing> whole;
  if (parts_.settings->identity.shard) whole = lister_.whole();
  Prepared prepared;
  const std::shared_ptr<const Listing> now = listing;
  if (manifest && !manifest->quarantined.empty()) {
    if (whole) whole = as_quarantined(*whole, *listing, manifest->quarantined);
    MILLRACE_ASSIGN(Listing then, as_quarantined(*listing, manifest->quarantined));
    listing = std::make_shared<const Listing>(std::move(then));
  }
  if (manifest) {
    auto resume = validate(*manifest, parts_.settings->identity, given.lanes, given.frozen, listing, whole);
    if (!resume) {
      Error error = std::move(resume).error().prefixed(fmt::format("manifest {}: ", parts_.file->options().url));
      if (error.code() != ErrorCode::drift) return fail(std::move(error));
      const auto changes = changes_of(*manifest, *listing);
      return fail(std::move(error)
                      .with("since the first run", changes ? changes->describe() : changes.error().message())
                      .with("all of them", std::string(kWholeReport)));
    }
    prepared.resume = *std::move(resume);
    prepared.manifest = *std::move(manifest);
    prepared.resumed = !prepared.manifest.positions.empty();
    if (!prepared.resume.listing_change.empty()) {
      const auto changes = changes_of(prepared.manifest, *listing);
      parts_.log.warn("the listing changed behind every committed position; going on with what is there now",
                      {{"change", prepared.resume.listing_change},
                       {"since_the_first_run", changes ? changes->describe() : changes.error().message()},
                       {"all_of_them", std::string(kWholeReport)}});
      // Gone or damaged: it is kept anew.
      if (!changes && changes.error().code() == ErrorCode::manifest) prepared.manifest.kept_listing = {};
    }
    if (parts_.file->options().retry_quarantined) MILLRACE_TRY(look_at_retry(prepared, *listing));
    const auto& receipt = prepared.manifest.receipt;
    // A receipt that a retry has opened waits for the next one: finished now, it would forget what that has written.
    const bool midway =
        receipt && !receipt->finished &&
        std::ranges::any_of(prepared.manifest.quarantined, [](const auto& one) { return one.retry.has_value(); });
    const bool as_it_was =
        prepared.manifest.complete && prepared.resume.listing_change.empty() && prepared.manifest.whole == whole;
    prepared.nothing_left =
        !prepared.retry && as_it_was &&
        (midway || (prepared.manifest.owner.released && (!parts_.receipt || (receipt && receipt->finished))));
    if (midway && prepared.nothing_left) {
      parts_.log.warn("a retry of what is set aside has stopped in the middle: --retry-quarantined goes on with it");
    }
  } else {
    prepared.resume = fresh_start(listing, given.lanes);
    prepared.manifest.identity = parts_.settings->identity;
    prepared.manifest.lanes = given.lanes;
  }
  MILLRACE_TRY(go_on_with_receipt(prepared));
  prepared.manifest.listing = {listing->size(), listing->bytes(), listing->hash()};
  prepared.manifest.whole = whole;
  prepared.manifest.complete = all_complete(prepared.resume.starts, *listing);
  prepared.listing = std::move(listing);
  if (prepared.retry) prepared.visits = visits_of(prepared.manifest.quarantined, *now, given.lanes);
  prepared.routes = prepared.retry ? routes_to(prepared.listing, prepared.visits)
                                   : routes_from(prepared.listing, prepared.resume.starts);
  prepared.fetch =
      std::make_shared<FetchLoop>(parts_.store, prepared.routes,
                                  FetchLoop::Options{.lanes = given.lanes,
                                                     .prefetch_bytes = given.prefetch_bytes.bytes,
                                                     .chunk_bytes = given.chunk_bytes.bytes,
                                                     .requests_in_flight = given.requests_in_flight,
                                                     .skip_archived = given.on_archived == OnArchived::skip,
                                                     .quarantine = given.on_object_error == OnObjectError::quarantine,
                                                     .frozen = given.frozen == Frozen::strict,
                                                     .retry = parts_.settings->retry,
                                                     .url = parts_.url_base,
                                                     .first_latency = lister_.fastest_page()},
                                  parts_.metrics, *parts_.clock, *parts_.random, parts_.log);
  return prepared;
}

/// What is set aside comes behind everything else, so that a run has one of two jobs.
Result<void> Preparation::look_at_retry(Prepared& prepared, const Listing& listing) {
  if (!all_complete(prepared.resume.starts, listing)) {
    return fail(Error::fatal(
        ErrorCode::manifest,
        fmt::format("manifest {}: the backfill is not finished, or objects have come since. What is set aside is read "
                    "when all the others are committed: run it to its end without --retry-quarantined first",
                    parts_.file->options().url)));
  }
  prepared.retry = !prepared.manifest.quarantined.empty();
  if (!prepared.retry) parts_.log.info("no object is set aside: there is nothing to retry");
  return {};
}

/// A receipt is one of the whole backfill: asked for from its beginning to its end, at one place.
Result<void> Preparation::go_on_with_receipt(Prepared& prepared) {
  auto& kept = prepared.manifest.receipt;
  const auto refuse = [&](std::string_view why) {
    return fail(Error::fatal(ErrorCode::manifest, fmt::format("manifest {}: {}, or start over with --reset and an "
                                                              "emptied output",
                                                              parts_.file->options().url, why)));
  };
  if (!parts_.receipt) {
    if (!kept || prepared.nothing_left) return {};
    if (!kept->finished) {
      return refuse(
          fmt::format("this backfill keeps a receipt for {}, which would have a gap without it: put `receipt: "
                      "{{url: {}}}` back",
                      kept->url, kept->url));
    }
    parts_.log.warn("the finished receipt does not hold what is read from now on; put `receipt` back to go on with it",
                    {{"receipt", kept->url}});
    kept.reset();
    return {};
  }
  const std::string url = parts_.settings->receipt_url.to_string();
  if (!kept && prepared.resumed) {
    return refuse("some of it is committed, and no receipt was asked for then: go on without `receipt`");
  }
  if (kept && kept->url != url) {
    return refuse(fmt::format("its receipt goes to {}, and {} is asked for now: put the old url back", kept->url, url));
  }
  if (!kept) kept = ReceiptState{.url = url};
  if (prepared.nothing_left) return {};
  Tries tries(parts_.settings->retry, *parts_.random);
  while (true) {
    auto partial = parts_.receipt->resume(*kept);
    if (partial && prepared.retry) partial = take_out_of_receipt(prepared.manifest.quarantined, *std::move(partial));
    if (partial) {
      prepared.partial = *std::move(partial);
      return {};
    }
    const auto wait = tries.next(partial.error(), parts_.clock->now());
    if (!wait) return fail(std::move(partial).error().as(ErrorClass::fatal));
    parts_.log.warn("the receipt so far could not be read; trying again",
                    {{"in", tries.wait_text()}, {"error", partial.error().describe()}});
    if (parts_.stop->wait(*parts_.clock, *wait)) return fail(std::move(partial).error().as(ErrorClass::fatal));
  }
}

/// The lines of objects that are retried: what is counted in them becomes what is counted so far. `partial`: of those
/// that a retry was at when it ended.
Result<std::vector<PartialReceipt>> Preparation::take_out_of_receipt(const Quarantine& quarantine,
                                                                     std::vector<PartialReceipt> partial) {
  std::map<std::string_view, const QuarantinedObject*> again;
  for (const QuarantinedObject& object : quarantine) again.emplace(object.key, &object);
  MILLRACE_ASSIGN(const auto lines,
                  parts_.receipt->take_out([&again](std::string_view key) { return again.contains(key); }));
  for (const ObjectReceipt& line : lines) {
    const QuarantinedObject& object = *again.at(line.key);
    partial.push_back({object.lane, watermark_of(object.position()).value(), line.fates, line.places});
  }
  return partial;
}

/// Object by object, from the listing that the first run kept.
Result<ListingDifference> Preparation::changes_of(const Manifest& manifest, const Listing& listing) {
  if (!manifest.kept_listing.name.empty()) return parts_.kept->changes(manifest.kept_listing, listing);
  return fail(Error::fatal(ErrorCode::manifest, "not known: no listing was kept beside the manifest yet"));
}

/// The first save: from here on the manifest is ours.
Result<void> Preparation::claim(Prepared& prepared) {
  Tries tries(parts_.settings->retry, *parts_.random);
  while (true) {
    auto saved = claim_once(prepared);
    if (saved) return saved;
    const auto wait = tries.next(saved.error(), parts_.clock->now());
    if (!wait) return fail(std::move(saved).error().as(ErrorClass::fatal));
    parts_.log.warn("the manifest could not be claimed; trying again",
                    {{"in", tries.wait_text()}, {"error", saved.error().describe()}});
    if (parts_.stop->wait(*parts_.clock, *wait)) return saved;
  }
}

Result<void> Preparation::claim_once(Prepared& prepared) {
  {
    const MutexLock lock(mutex_);
    if (stopped_) return fail(Error::fatal(ErrorCode::cancelled, "stopped before the manifest was claimed"));
    claiming_ = true;
  }
  auto saved = parts_.file->save(prepared.manifest, /*released=*/prepared.manifest.complete && !prepared.retry);
  const MutexLock lock(mutex_);
  claiming_ = false;
  changed_.notify_all();
  // A try that got no answer may have landed, and a later one finds out.
  if (saved || saved.error().is_retryable()) claimed_ = prepared.manifest;
  if (!saved && saved.error().code() == ErrorCode::fenced) claimed_.reset();
  return saved;
}

}  // namespace millrace::s3_source
