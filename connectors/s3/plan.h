// SPDX-License-Identifier: Apache-2.0
// BackfillPlan: everything that a run would decide before it moves a byte, as values (plan_text.h shows them). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/options.h"
#include "connectors/s3/read_chunks.h"
#include "connectors/s3/sample.h"
#include "millrace/codec/decompressor.h"
#include "millrace/pipeline/plan.h"

namespace millrace::s3_source {

/// Objects that are decompressed alike, by what the settings and their names say.
struct CodecShare {
  Codec codec = Codec::none;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< stored
  friend bool operator==(const CodecShare&, const CodecShare&) = default;
};

/// How the deal came out.
struct LaneBalance {
  std::uint64_t lanes = 0;
  std::uint64_t least_objects = 0;
  std::uint64_t most_objects = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
  /// The lane with the most bytes, where these are more than 1.5 times the mean.
  struct Heavy {
    std::uint64_t lane = 0;
    double times_mean = 0;
    std::string key;  ///< its largest object
    std::uint64_t bytes = 0;
    friend bool operator==(const Heavy&, const Heavy&) = default;
  };
  std::optional<Heavy> heavy;
  friend bool operator==(const LaneBalance&, const LaneBalance&) = default;
};

/// What lies behind the positions, and what reading it takes.
struct WorkLeft {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;          ///< stored; objects in progress count whole, as they are read again
  std::uint64_t reads = 0;          ///< ranged GETs, without those that have to be tried again
  std::uint64_t records_again = 0;  ///< committed of the objects in progress: read again and dropped
  std::uint64_t in_progress = 0;    ///< objects
  friend bool operator==(const WorkLeft&, const WorkLeft&) = default;
};

/// What a run would do with the position that is kept.
struct ResumePlan {
  enum class Kind : std::uint8_t { fresh, resume, finished, refused } kind = Kind::fresh;
  std::string manifest_url;      ///< empty: the position goes with the run
  std::string refusal;           ///< the error that a run would end with
  std::string listing_change;    ///< what changed behind every position
  std::uint64_t set_aside = 0;   ///< objects that earlier runs quarantined
  std::optional<Owner> kept_by;  ///< another run has not said goodbye, and is not known to be gone
  Duration owner_timeout{0};     ///< how long it would be waited for
};

struct BackfillPlan {
  std::string url;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  ListingCounts counts;
  std::optional<Shard> shard;
  std::optional<WholeListing> whole;  ///< with a shard: of all of them
  std::vector<CodecShare> codecs;     ///< those that occur, in the order of Codec
  bool codecs_by_name = false;        ///< a Content-Encoding may say otherwise
  LaneBalance balance;
  WorkLeft left;                  ///< nothing where a run is refused
  std::uint64_t read_bytes = 0;   ///< of one GET at most
  std::uint64_t pages = 0;        ///< of the listing
  double saves_per_minute = 0;    ///< of the manifest, at most
  std::string siblings;           ///< what a prefix without a slash also takes; empty: nothing
  bool archived_unasked = false;  ///< whether archived objects are restored was not asked, and on_archived is fail
  bool archived_skipped = false;  ///< on_archived is skip
  std::vector<MemoryPart> memory;
  std::vector<NeededRight> rights;
  ResumePlan resume;
  std::optional<Sample> sample;

  /// A run that nobody disturbs would not fail on what is known here.
  [[nodiscard]] bool can_run() const;
};

/// What the sample lets one expect of the whole listing.
struct Estimate {
  std::uint64_t decoded = 0;  ///< bytes
  std::optional<std::uint64_t> records;
};
/// Nothing without a sample, or when some codec of the listing could not be decoded within it.
[[nodiscard]] std::optional<Estimate> estimate_of(const BackfillPlan& plan);

[[nodiscard]] std::vector<CodecShare> codec_mix(const Listing& listing, ObjectCodec setting);
[[nodiscard]] LaneBalance balance_of(const Listing& listing, std::uint64_t lanes);
/// `starts`: where each lane begins.
[[nodiscard]] WorkLeft work_left(const Listing& listing, const std::vector<Position>& starts, const ReadChunks& chunks);

}  // namespace millrace::s3_source
