// SPDX-License-Identifier: Apache-2.0
// Sample: the first bytes of a few objects spread over a listing, and what they tell: how each is compressed, whether
// its name lies, how much it decodes to and how many records that is. Blocks; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/options.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/time.h"
#include "millrace/codec/decompressor.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

inline constexpr std::size_t kSampledObjects = 20;
inline constexpr std::size_t kSampledBytes = std::size_t{64} << 10U;

struct SampledObject {
  std::string key;
  Codec codec = Codec::none;
  std::string content_encoding;
  std::uint64_t stored = 0;   ///< bytes that were looked at
  std::uint64_t decoded = 0;  ///< made of them
  std::uint64_t records = 0;  ///< whole ones among these
  std::string problem;        ///< why a run cannot read it; empty: it can
  bool set_aside = false;     ///< for that a run leaves it out and goes on (on_object_error: quarantine)
};

struct Sample {
  std::vector<SampledObject> objects;

  /// Objects that a run would end with.
  [[nodiscard]] std::uint64_t problems() const;
  /// Decoded bytes for each stored byte, over the sampled objects of a codec; nothing when none could be decoded.
  [[nodiscard]] std::optional<double> expansion(Codec codec) const;
  /// Decoded bytes of a record; nothing when no whole one was seen.
  [[nodiscard]] std::optional<double> record_bytes() const;
};

/// Places in the listing: at most kSampledObjects objects with bytes that can be read, spread evenly from the first to
/// the last.
[[nodiscard]] std::vector<std::size_t> places_to_sample(const Listing& listing);

/// One ranged read of each, pinned to what was listed, retried while it may pass. An error of one object is told with
/// it. `url_base`: what a key is put behind.
[[nodiscard]] Sample take_sample(ObjectStore& store, const Listing& listing, const Settings& settings,
                                 const std::string& url_base, Clock& clock, Random& random, StopSignal& stop);

}  // namespace millrace::s3_source
