// SPDX-License-Identifier: Apache-2.0
// ManifestFile: the manifest object in its store, written by one run at a time. Loads it, settles whose it is, and
// saves it under the condition that nobody else has. Blocks; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/s3/manifest.h"
#include "connectors/s3/retry_policy.h"
#include "millrace/base/log.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// How long an owner lets a manifest stand still, so that nobody takes it for gone.
[[nodiscard]] constexpr Duration sign_of_life(Duration owner_timeout) noexcept { return owner_timeout / 3; }

class ManifestFile {
 public:
  struct Options {
    std::string key;
    std::string url;  ///< for messages
    Duration timeout = std::chrono::seconds(10);
    Duration owner_timeout = std::chrono::seconds(30);
    RetryPolicy retry;
    bool store_unset = false;        ///< in another store than the source, and that one was given no options
    bool reset = false;              ///< what is there is not read, only replaced
    bool expect_resume = false;      ///< nothing there is an error
    bool take_over = false;          ///< another owner is not waited for
    bool retry_quarantined = false;  ///< nothing there is an error
  };
  ManifestFile(std::shared_ptr<ObjectStore> store, Options options, Owner self, Clock& clock, Random& random,
               Logger log, StopSignal& stop);

  /// What is there; nothing when there is no manifest. Retried while it may pass. Fails (manifest) on anything that is
  /// none. Remembers its ETag.
  [[nodiscard]] Result<std::optional<Manifest>> load();
  /// Loads until the manifest is free to take (docs/formats/manifest.md, Taking over), and returns the version to
  /// resume from; nothing when there is none, or with reset. Fails (fenced) when its owner lives.
  [[nodiscard]] Result<std::optional<Manifest>> acquire();
  /// Writes the next version under our name: owner, generation and times are filled in. One try, but for conflicts that
  /// are our own. A retryable error may be tried again with this or a newer state; `fenced` is final.
  [[nodiscard]] Result<void> save(Manifest& manifest, bool released);
  /// After the first save: finds out whether the store keeps the conditions that it accepts; one that does not is said
  /// once, and saves read and compare from then on.
  [[nodiscard]] Result<void> probe_conditions(const Manifest& manifest);

  /// Ends the call under way; nothing can be read or saved any more. Any thread.
  void cancel() { store_->cancel_all(); }

  [[nodiscard]] bool conditional() const noexcept { return conditional_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  /// One version as it lies in the store; one that is no manifest says why.
  struct Version {
    ETag etag;
    Result<Manifest> manifest;
  };
  Result<std::optional<Version>> look();
  Result<std::optional<Version>> look_patiently();
  Result<void> must_refuse(const Manifest& manifest, PutCondition condition, std::string_view otherwise);
  Result<std::optional<Manifest>> nothing_there();
  Result<bool> free_to_take(const Manifest& manifest);
  Result<void> put(const std::string& body, PutCondition condition);
  Result<bool> settle_conflict(bool after_if_absent);
  Result<void> read_compare_write(const std::string& body);
  void give_up_conditions(std::string_view why);
  [[nodiscard]] Error no_manifest_any_more(const Error& why) const;
  [[nodiscard]] Error too_large(const Manifest& manifest, std::size_t bytes) const;
  [[nodiscard]] Error fenced(const Owner& owner, std::string_view how) const;

  const std::shared_ptr<ObjectStore> store_;
  const Options options_;
  Owner self_;
  Clock& clock_;
  Random& random_;
  Logger log_;
  StopSignal& stop_;

  ETag etag_;            // of the version last seen; empty: none was there
  bool exists_ = false;  // a version was seen
  bool conditional_ = true;
  bool has_answered_ = false;
  std::string before_us_;  // the owner of the version that we replace, for read-compare-write
  /// The version that shows no life yet, and since when, on our own clock.
  struct StandingStill {
    Owner owner;
    std::uint64_t generation = 0;
    ETag etag;
    SteadyTime since;
  };
  std::optional<StandingStill> waiting_for_;
};

}  // namespace millrace::s3_source
