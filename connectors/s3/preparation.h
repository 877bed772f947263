// SPDX-License-Identifier: Apache-2.0
// Preparation: everything between open and the first lane: listing and manifest (at the same time), validation, the
// deal, and the claim of the manifest, while the first reads are already under way. On I/O threads of its own, so that
// the control thread can stop it, show it and serve others meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/s3/fetch_loop.h"
#include "connectors/s3/kept_listing.h"
#include "connectors/s3/lister.h"
#include "connectors/s3/manifest_file.h"
#include "connectors/s3/options.h"
#include "connectors/s3/receipt_file.h"
#include "connectors/s3/route.h"
#include "connectors/s3/validate.h"
#include "millrace/base/stop_signal.h"

namespace millrace::s3_source {

/// Ready to hand out lanes.
struct Prepared {
  std::shared_ptr<const Listing> listing;
  Resume resume;
  std::vector<LaneRoute> routes;           ///< by lane
  std::shared_ptr<FetchLoop> fetch;        ///< running
  Manifest manifest;                       ///< as it stands in the store
  std::vector<PartialReceipt> partial;     ///< what the receipt says of objects that are committed in part
  bool resumed = false;                    ///< some position was committed before
  bool nothing_left = false;               ///< every object was; the manifest is left as it is
  bool retry = false;                      ///< only what is set aside is read, and there is some
  std::vector<std::vector<Visit>> visits;  ///< that, by lane
};

/// What a run would begin with.
struct Preview {
  std::shared_ptr<const Listing> listing;
  std::optional<WholeListing> whole;       ///< with a shard
  std::uint64_t pages = 0;                 ///< of the listing
  std::optional<Manifest> manifest;        ///< as it lies there, whoever keeps it
  Result<Prepared> prepared = Prepared();  ///< or why a run would fail
};

class Preparation {
 public:
  struct Parts {
    const Settings* settings = nullptr;
    std::shared_ptr<ObjectStore> store;
    ManifestFile* file = nullptr;
    KeptListing* kept = nullptr;
    ReceiptFile* receipt = nullptr;  ///< null: none is asked for
    SourceMetrics metrics;
    Clock* clock = nullptr;
    Random* random = nullptr;
    Logger log;
    std::string url_base;        ///< what a key is put behind in messages
    StopSignal* stop = nullptr;  ///< of this preparation and of `file`
    std::function<void()> done;  ///< called once, on an I/O thread
  };
  explicit Preparation(Parts parts);
  ~Preparation();
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  /// In place of start(), on the caller's thread: what a run would find and decide. Reads listing, manifest and what
  /// lies beside it; claims and writes nothing, and reads no object but, with `ask_archived`, the first byte of those
  /// in an archive class. Fails when the listing cannot be had.
  [[nodiscard]] Result<Preview> preview(bool ask_archived);

  void start();
  /// The result, once; nothing while it goes on. With it the manifest is the caller's to release.
  [[nodiscard]] std::optional<Result<Prepared>> take();
  /// Ends it, soon, and says goodbye in the manifest if it has been claimed for a result that nobody took. The store's
  /// calls under way are cancelled, but for those that claim and release: these are cut off at `deadline`.
  void stop(SteadyTime deadline = SteadyTime::max());

  [[nodiscard]] std::uint64_t keys_listed() const noexcept { return lister_.keys_so_far(); }

 private:
  Result<Prepared> run();
  Result<Listing> list();
  Result<void> look_over(const Listing& listing);
  Result<void> ask_archived(const Listing& listing);
  Result<Prepared> deal(std::shared_ptr<const Listing> listing, std::optional<Manifest> manifest);
  Result<void> look_at_retry(Prepared& prepared, const Listing& listing);
  Result<void> go_on_with_receipt(Prepared& prepared);
  Result<std::vector<PartialReceipt>> take_out_of_receipt(const Quarantine& quarantine,
                                                          std::vector<PartialReceipt> partial);
  Result<ListingDifference> changes_of(const Manifest& manifest, const Listing& listing);
  Result<void> claim(Prepared& prepared);
  Result<void> claim_once(Prepared& prepared);
  void say_goodbye(SteadyTime deadline);

  Parts parts_;
  Lister lister_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<Result<Prepared>> result_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Manifest> claimed_ MILLRACE_GUARDED_BY(mutex_);  // under our name in the store, or perhaps
  bool claiming_ MILLRACE_GUARDED_BY(mutex_) = false;            // a save is under way
  bool stopped_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

/// Fails (limit) when so many objects cannot be numbered within their lanes.
[[nodiscard]] Result<void> fits_lanes(std::uint64_t objects, std::uint64_t lanes, const std::string& url);

/// True when every object of every lane lies behind its position.
[[nodiscard]] bool all_complete(const std::vector<Position>& positions, const Listing& listing);

}  // namespace millrace::s3_source
