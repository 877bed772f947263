// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "connectors/s3/plan_memory.h"
#include "connectors/s3/plan_text.h"
#include "connectors/s3/preparation.h"
#include "connectors/s3/process.h"
#include "connectors/s3/rights.h"

namespace millrace::s3_source {
namespace {

/// Everything that looking needs, opened.
struct Stores {
  std::shared_ptr<ObjectStore> source;
  std::shared_ptr<ObjectStore> checkpoint;
  std::shared_ptr<ObjectStore> receipt;  // null: none is asked for

  static Result<Stores> open(const Settings& settings, const StoreContext& context, const StoreOpener& open) {
    Stores stores;
    MILLRACE_ASSIGN(stores.source, open(settings.url, settings.store, context));
    stores.checkpoint = stores.source;
    if (!settings.one_store) {
      MILLRACE_ASSIGN(stores.checkpoint, open(settings.checkpoint_url, settings.checkpoint_store, context));
    }
    if (!settings.receipt) return stores;
    const Settings::StoreRole role = settings.role_of_receipt(settings.receipt_url);
    stores.receipt = role == Settings::StoreRole::source ? stores.source : stores.checkpoint;
    if (role == Settings::StoreRole::own) {
      MILLRACE_ASSIGN(stores.receipt, open(settings.receipt_url, settings.receipt_store, context));
    }
    return stores;
  }
};

/// At most. A sign of life is due behind any save, whatever that was for.
double saves_per_minute(Duration interval, Duration owner_timeout) {
  const std::chrono::duration<double> commits = interval;
  const std::chrono::duration<double> between = sign_of_life(owner_timeout);
  return std::ceil(commits / between) * (std::chrono::minutes(1) / commits);
}

ResumePlan resume_of(const Preview& preview, const Settings& settings, bool keeps_position) {
  ResumePlan resume;
  if (keeps_position) resume.manifest_url = settings.checkpoint_url.to_string();
  resume.owner_timeout = settings.given.checkpoint.owner_timeout;
  if (preview.manifest && !preview.manifest->owner.released && !is_gone(preview.manifest->owner)) {
    resume.kept_by = preview.manifest->owner;
  }
  if (preview.manifest) resume.set_aside = preview.manifest->quarantined.size();
  if (!preview.prepared) {
    resume.kind = ResumePlan::Kind::refused;
    resume.refusal = preview.prepared.error().describe();
    return resume;
  }
  const Prepared& prepared = *preview.prepared;
  resume.listing_change = prepared.resume.listing_change;
  resume.kind = prepared.nothing_left ? ResumePlan::Kind::finished
                : prepared.resumed    ? ResumePlan::Kind::resume
                                      : ResumePlan::Kind::fresh;
  return resume;
}

/// All that follows from listing and settings.
BackfillPlan plan_of(const Preview& preview, const Settings& settings, const ReadAdvice& advice,
                     const PlanRequest& request) {
  const Listing& listing = *preview.listing;
  const S3SourceOptions& given = settings.given;
  const ReadChunks chunks(given.lanes, given.prefetch_bytes.bytes, given.chunk_bytes.bytes, advice);
  BackfillPlan plan;
  plan.url = settings.url.to_string();
  plan.objects = listing.size();
  plan.bytes = listing.bytes();
  plan.counts = listing.counts();
  plan.shard = settings.identity.shard;
  plan.whole = preview.whole;
  plan.codecs = codec_mix(listing, given.compression);
  plan.codecs_by_name = given.compression == ObjectCodec::auto_detect && settings.url.scheme == "s3" &&
                        !plan.codecs.empty() && plan.codecs.front().codec == Codec::none;
  plan.balance = balance_of(listing, given.lanes);
  // Positions count in the listing that was dealt, which has quarantined objects as they were listed then.
  if (preview.prepared) {
    plan.left = work_left(*preview.prepared->listing, preview.prepared->resume.starts, chunks);
  }
  plan.read_bytes = chunks.read_bytes();
  plan.pages = preview.pages;
  if (request.keeps_position) {
    plan.saves_per_minute = saves_per_minute(request.checkpoint_interval, given.checkpoint.owner_timeout);
  }
  plan.siblings = sibling_prefixes(listing, settings.url.key);
  plan.archived_skipped = given.on_archived == OnArchived::skip;
  plan.archived_unasked = plan.counts.archived > 0 && given.on_archived == OnArchived::fail && !request.sniff;
  // A refused run would not read; what it would take once that is put right is told all the same.
  const std::uint64_t reads =
      preview.prepared ? plan.left.reads : work_left(listing, std::vector<Position>(given.lanes), chunks).reads;
  plan.memory = source_memory(listing, settings, chunks, reads, advice.reads_in_flight);
  if (request.memory_behind_source) {
    auto behind = request.memory_behind_source(given.lanes, longest_record(listing, settings));
    std::ranges::move(behind, std::back_inserter(plan.memory));
  }
  plan.rights = rights_of(settings, request.keeps_position);
  for (const NeededRight& right : request.sink_rights) plan.rights.push_back(right);
  plan.resume = resume_of(preview, settings, request.keeps_position);
  return plan;
}

}  // namespace

Result<BackfillPlan> plan_backfill(const Settings& settings, const BuildContext& context, const PlanRequest& request,
                                   const StoreOpener& open) {
  MILLRACE_ASSIGN(const Stores stores,
                  Stores::open(settings, StoreContext{context.clock, context.random, context.log}, open));
  StopSignal stop;  // nobody asks for it: whoever waits too long ends the program
  const std::string manifest_url = settings.checkpoint_url.to_string();
  const std::string manifest_key = settings.checkpoint_url.key;
  const Duration timeout = settings.given.checkpoint.timeout;
  ManifestFile file(stores.checkpoint,
                    {.key = manifest_key,
                     .url = manifest_url,
                     .timeout = timeout,
                     .retry = settings.retry,
                     .store_unset = settings.store_unset()},
                    {}, *context.clock, *context.random, context.log, stop);
  KeptListing kept(stores.checkpoint, manifest_key, manifest_url, timeout);
  std::unique_ptr<ReceiptFile> receipt;
  if (stores.receipt) {
    receipt = std::make_unique<ReceiptFile>(stores.checkpoint, stores.receipt,
                                            ReceiptFile::Options{.manifest_key = manifest_key,
                                                                 .manifest_url = manifest_url,
                                                                 .key = settings.receipt_url.key,
                                                                 .url = settings.receipt_url.to_string(),
                                                                 .pipeline = context.pipeline,
                                                                 .owner = {},
                                                                 .timeout = timeout});
  }
  const std::string url_base = base_of(settings.url);
  Preparation preparation({.settings = &settings,
                           .store = stores.source,
                           .file = &file,
                           .kept = &kept,
                           .receipt = receipt.get(),
                           .metrics = {},
                           .clock = context.clock,
                           .random = context.random,
                           .log = context.log,
                           .url_base = url_base,
                           .stop = &stop,
                           .done = nullptr});
  MILLRACE_ASSIGN(const Preview preview, preparation.preview(request.sniff));
  BackfillPlan plan = plan_of(preview, settings, stores.source->read_advice(), request);
  if (request.sniff) {
    plan.sample =
        take_sample(*stores.source, *preview.listing, settings, url_base, *context.clock, *context.random, stop);
  }
  return plan;
}

Result<Verdict> plan(const ConfigSection& section, const BuildContext& context, const PlanRequest& request) {
  MILLRACE_ASSIGN(S3SourceOptions options, S3Source::schema().parse(section));
  options.receipt = context.receipt;
  MILLRACE_ASSIGN(const Settings settings, settle(std::move(options)));
  MILLRACE_ASSIGN(const BackfillPlan plan, plan_backfill(settings, context, request));
  return Verdict{plan.can_run(), request.json ? plan_json(plan) : plan_text(plan)};
}

}  // namespace millrace::s3_source
