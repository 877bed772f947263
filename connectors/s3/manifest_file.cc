// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/manifest_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/s3/process.h"

namespace millrace::s3_source {

namespace {

// Spelled like an ETag of S3, so that a store that looks at it closely takes it for one; none has this sum.
constexpr std::string_view kNoVersion = "\"00000000000000000000000000000000\"";

constexpr std::string_view kStoreUnset =
    " (source.s3.checkpoint.store is not set, and the options of source.s3.store are taken for the same bucket only)";

}  // namespace

ManifestFile::ManifestFile(std::shared_ptr<ObjectStore> store, Options options, Owner self, Clock& clock,
                           Random& random, Logger log, StopSignal& stop)
    : store_(std::move(store)),
      options_(std::move(options)),
      self_(std::move(self)),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      stop_(stop) {}

Error ManifestFile::fenced(const Owner& owner, std::string_view how) const {
  return Error::fatal(
             ErrorCode::fenced,
             fmt::format(
                 "manifest {}: {} by another run ({}); two runs on one manifest would undo each other's progress. Stop "
                 "one of them, or give each its own checkpoint.url; run with --take-over to end the other one",
                 options_.url, how, owner.describe()))
      .with("owner", owner.id);
}

/// Nothing when there is none. What is too large for a manifest is not read, and has its ETag all the same: --reset
/// replaces it like any other.
Result<std::optional<ManifestFile::Version>> ManifestFile::look() {
  auto got = store_->get(options_.key, kManifestLimit, options_.timeout);
  if (got) return Version{std::move(got->etag), parse_manifest(got->bytes)};
  if (got.error().code() == ErrorCode::not_found) return std::nullopt;
  if (got.error().code() != ErrorCode::too_large) return fail(std::move(got).error());
  auto head = store_->head(options_.key);
  if (head) return Version{std::move(head->info.etag), fail(std::move(got).error())};
  if (head.error().code() == ErrorCode::not_found) return std::nullopt;
  return fail(std::move(head).error());
}

/// Retried while it may pass. The first time without patience, as a store that never answered is rather a wrong one.
Result<std::optional<ManifestFile::Version>> ManifestFile::look_patiently() {
  Tries tries(has_answered_ ? options_.retry : options_.retry.before_the_first_answer(), random_);
  while (true) {
    auto there = look();
    if (there) {
      has_answered_ = true;
      return there;
    }
    const auto wait = tries.next(there.error(), clock_.now());
    if (!wait) {
      return fail(std::move(there)
                      .error()
                      .prefixed(fmt::format("reading the manifest {}{}: ", options_.url,
                                            options_.store_unset ? kStoreUnset : std::string_view()))
                      .as(ErrorClass::fatal));
    }
    log_.warn("reading the manifest failed; trying again",
              {{"in", tries.wait_text()}, {"error", there.error().describe()}});
    if (stop_.wait(clock_, *wait))
      return fail(Error::fatal(ErrorCode::cancelled, "stopped while reading the manifest"));
  }
}

Result<std::optional<Manifest>> ManifestFile::load() {
  MILLRACE_ASSIGN(auto there, look_patiently());
  exists_ = there.has_value();
  etag_ = there ? there->etag : ETag{};
  if (!there) return std::nullopt;
  if (there->manifest) return *std::move(there->manifest);
  std::string message = fmt::format(
      "manifest {}: {}. Nothing was started: a position that cannot be read must not pass for a first run. Restore "
      "it "
      "from a copy, give another checkpoint.url, or start over with --reset and an emptied output, since what was "
      "written stays",
      options_.url, there->manifest.error().message());
  return fail(Error::fatal(ErrorCode::manifest, std::move(message)));
}

Result<std::optional<Manifest>> ManifestFile::nothing_there() {
  if (options_.expect_resume) {
    return fail(Error::fatal(
        ErrorCode::manifest,
        fmt::format("manifest {}: there is none, and --expect-resume says that there must be: was it deleted, or is "
                    "checkpoint.url wrong? For a first run leave --expect-resume out",
                    options_.url)));
  }
  if (options_.retry_quarantined) {
    return fail(Error::fatal(
        ErrorCode::manifest,
        fmt::format(
            "manifest {}: there is none, so no object is set aside that could be retried: was it deleted, or is "
            "checkpoint.url wrong? For a first run leave --retry-quarantined out",
            options_.url)));
  }
  if (!options_.reset) {
    log_.warn("no manifest there: this is a first run and reads everything from the beginning",
              {{"manifest", options_.url}});
  }
  return std::nullopt;
}

Result<std::optional<Manifest>> ManifestFile::acquire() {
  while (true) {
    auto loaded = load();
    if (!loaded && options_.reset && loaded.error().code() == ErrorCode::manifest) {
      log_.warn("what is there is no manifest; replacing it, as --reset asks", {{"error", loaded.error().message()}});
      return std::nullopt;
    }
    if (!loaded) return fail(std::move(loaded).error());
    if (!*loaded) return nothing_there();
    const Manifest& manifest = **loaded;
    MILLRACE_ASSIGN(const bool free, free_to_take(manifest));
    if (free) {
      before_us_ = manifest.owner.id;
      if (!options_.reset) return loaded;
      log_.warn(
          "forgetting the committed positions, as --reset asks; what was written stays, and stands twice unless the "
          "output was emptied",
          {{"manifest", options_.url}});
      return std::nullopt;
    }
    const Duration pause =
        std::clamp<Duration>(options_.owner_timeout / 10, std::chrono::milliseconds(50), std::chrono::seconds(1));
    if (stop_.wait(clock_, pause)) {
      return fail(Error::fatal(ErrorCode::cancelled, "stopped while waiting for the manifest's owner"));
    }
  }
}

/// Rulings on who may take a manifest; says so when it waits or takes over.
Result<bool> ManifestFile::free_to_take(const Manifest& manifest) {
  const Owner& owner = manifest.owner;
  if (owner.released) return true;
  if (options_.take_over) {
    log_.warn("taking the manifest over without waiting, as --take-over asks", {{"owner", owner.describe()}});
    return true;
  }
  if (is_gone(owner)) {
    log_.info("the process that kept the manifest is gone; taking it over", {{"owner", owner.describe()}});
    return true;
  }
  // Only our own clock: how long the version has stood still since we first saw it. Theirs may be hours off.
  const SteadyTime now = clock_.now();
  if (!waiting_for_) {
    waiting_for_ = {owner, manifest.generation, etag_, now};
    log_.warn(fmt::format("another run keeps the manifest; waiting up to {}s for a sign of life, --take-over does not "
                          "wait",
                          std::chrono::ceil<std::chrono::seconds>(options_.owner_timeout).count()),
              {{"owner", owner.describe()}});
  }
  const StandingStill& seen = *waiting_for_;
  if (seen.owner != owner || seen.generation != manifest.generation || seen.etag != etag_) {
    return fail(fenced(owner, "it is being kept"));
  }
  if (now - seen.since < options_.owner_timeout) return false;
  log_.warn("the run that kept the manifest gave no sign of life; taking it over", {{"owner", owner.describe()}});
  return true;
}

Result<void> ManifestFile::save(Manifest& manifest, bool released) {
  self_.heartbeat = clock_.unix_micros();
  self_.released = released;
  manifest.owner = self_;
  manifest.updated = self_.heartbeat;
  ++manifest.generation;
  const std::string body = to_json(manifest);
  if (body.size() > kManifestLimit) return fail(too_large(manifest, body.size()));
  // Each round either ends or has learnt a newer ETag of our own; a store that answers differently each time is at
  // fault.
  for (int round = 0; round < 4 && conditional_; ++round) {
    if (exists_ && !etag_.pins()) {
      give_up_conditions("it gives no ETag that a condition could name");
      break;
    }
    const PutCondition condition = exists_ ? PutCondition::if_match : PutCondition::if_absent;
    auto saved = put(body, condition);
    if (saved) return saved;
    if (saved.error().code() == ErrorCode::not_supported) {
      give_up_conditions(saved.error().message());
      break;
    }
    const bool refused =
        saved.error().code() == ErrorCode::precondition_failed || saved.error().code() == ErrorCode::already_exists;
    if (!refused) return saved;
    MILLRACE_ASSIGN(const bool ours, settle_conflict(condition == PutCondition::if_absent));
    if (!ours) break;
  }
  return read_compare_write(body);
}

/// What would be written could not be read again.
Error ManifestFile::too_large(const Manifest& manifest, std::size_t bytes) const {
  return Error::fatal(
      ErrorCode::limit,
      fmt::format("manifest {}: it would have {} bytes, and no manifest has more than {}; it names {} objects that are "
                  "set aside, {} that were left out, and the positions of {} lanes. What was saved before stays: mend "
                  "or restore the objects, or read a part of them with include or shard and a checkpoint.url of its "
                  "own",
                  options_.url, bytes, kManifestLimit, manifest.quarantined.size(), manifest.skipped.keys.size(),
                  manifest.positions.size()));
}

Result<void> ManifestFile::put(const std::string& body, PutCondition condition) {
  PutRequest request;
  request.key = options_.key;
  request.body = body;
  request.condition = condition;
  if (condition == PutCondition::if_match) request.etag = etag_;
  request.content_type = "application/json";
  request.timeout = options_.timeout;
  auto done = store_->put(request);
  if (!done) return fail(std::move(done).error().prefixed(fmt::format("saving the manifest {}: ", options_.url)));
  etag_ = std::move(done->etag);
  exists_ = true;
  return {};
}

/// After a refusal: who wrote what is there? True: we did, go on with its ETag. False: the condition itself is broken.
Result<bool> ManifestFile::settle_conflict(bool after_if_absent) {
  auto looked = look();
  if (!looked) {
    return fail(
        std::move(looked).error().prefixed(fmt::format("reading the manifest {} after a conflict: ", options_.url)));
  }
  const auto& there = *looked;
  if (!there) {
    if (after_if_absent) {
      give_up_conditions("it refused to create what is not there");
      return false;
    }
    log_.warn("the manifest was removed while this run kept it; writing it again", {{"manifest", options_.url}});
    exists_ = false;
    etag_ = {};
    return true;
  }
  // With an unchanged ETag it is still the version that we replace: the store refuses what it should accept.
  if (!after_if_absent && there->etag == etag_) {
    give_up_conditions("it refused to replace exactly the version that is there");
    return false;
  }
  if (!there->manifest) return fail(no_manifest_any_more(there->manifest.error()));
  if (there->manifest->owner.id != self_.id) {
    return fail(fenced(there->manifest->owner, after_if_absent ? "it was created" : "it was taken over"));
  }
  exists_ = true;
  etag_ = there->etag;  // an earlier try of ours had landed although its answer was lost
  return true;
}

Error ManifestFile::no_manifest_any_more(const Error& why) const {
  return Error::fatal(ErrorCode::fenced,
                      fmt::format("manifest {}: somebody else wrote to it, and it is no manifest any more: {}",
                                  options_.url, why.message()));
}

Result<void> ManifestFile::read_compare_write(const std::string& body) {
  auto looked = look();
  if (!looked) return fail(std::move(looked).error().prefixed(fmt::format("reading the manifest {}: ", options_.url)));
  if (const auto& there = *looked) {
    const auto& manifest = there->manifest;
    const bool replaceable = manifest ? manifest->owner.id == self_.id || manifest->owner.id == before_us_
                                      : before_us_.empty() && options_.reset;
    if (!replaceable) {
      return fail(manifest ? fenced(manifest->owner, "it was taken over") : no_manifest_any_more(manifest.error()));
    }
  }
  MILLRACE_TRY(put(body, PutCondition::none));
  before_us_ = self_.id;
  return {};
}

void ManifestFile::give_up_conditions(std::string_view why) {
  if (!conditional_) return;
  conditional_ = false;
  log_.warn(
      "the store does not do conditional writes; the manifest is read and compared before each save instead, which can "
      "miss "
      "a second run that writes at the same moment: make sure that only one run uses it",
      {{"manifest", options_.url}, {"why", std::string(why)}});
}

Result<void> ManifestFile::probe_conditions(const Manifest& manifest) {
  if (!conditional_) return {};
  MILLRACE_TRY(
      must_refuse(manifest, PutCondition::if_absent, "it created what was there already (If-None-Match was ignored)"));
  if (!conditional_ || !etag_.pins()) return {};
  return must_refuse(manifest, PutCondition::if_match,
                     "it replaced another version than the one that was named (If-Match was ignored)");
}

/// A put whose condition cannot hold. Where it is done all the same nothing is lost: the bytes are those that are
/// there.
Result<void> ManifestFile::must_refuse(const Manifest& manifest, PutCondition condition, std::string_view otherwise) {
  const ETag before = etag_;
  if (condition == PutCondition::if_match) etag_ = ETag{std::string(kNoVersion)};
  auto done = put(to_json(manifest), condition);
  if (done) {
    give_up_conditions(otherwise);
    return {};
  }
  etag_ = before;
  const ErrorCode code = done.error().code();
  if (code == ErrorCode::precondition_failed || code == ErrorCode::already_exists) return {};
  if (code != ErrorCode::not_supported) return done;
  give_up_conditions(done.error().message());
  return {};
}

}  // namespace millrace::s3_source
