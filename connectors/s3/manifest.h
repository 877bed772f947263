// SPDX-License-Identifier: Apache-2.0
// Manifest: the committed progress of one backfill, as docs/formats/manifest.md describes it (schema 1). A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/identity.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/stored_record.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

inline constexpr std::uint64_t kManifestSchema = 1;
/// No manifest is longer; what is, is no manifest, and is not read to its end (F10).
inline constexpr std::size_t kManifestLimit = std::size_t{32} << 20U;

/// A manifest names so many skipped objects; the others are only counted, so that it stays small.
inline constexpr std::size_t kSkippedNamed = 10'000;

/// How far one lane is committed, pinned to the object there.
struct LanePosition {
  std::uint64_t lane = 0;
  Watermark watermark;
  std::string key;
  std::string etag;
  std::uint64_t prefix_hash = 0;

  [[nodiscard]] Position position() const { return *position_of(watermark); }
  friend bool operator==(const LanePosition&, const LanePosition&) = default;
};

/// How far the receipt is that was asked for.
struct ReceiptState {
  std::string url;  ///< where it goes
  StoredRecord at;  ///< the last part of it; the receipt itself once it is finished
  bool finished = false;
  friend bool operator==(const ReceiptState&, const ReceiptState&) = default;
};

/// Who writes the manifest.
struct Owner {
  std::string id;
  std::string host;
  std::uint64_t pid = 0;
  std::string process;
  UnixMicros started = 0;
  UnixMicros heartbeat = 0;
  bool released = false;

  /// "host worker-1, pid 4711, started 2026-...": for messages.
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const Owner&, const Owner&) = default;
};

struct Manifest {
  std::uint64_t generation = 0;
  UnixMicros updated = 0;
  bool complete = false;
  SourceIdentity identity;
  std::uint64_t lanes = 0;
  struct Listed {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;
    friend bool operator==(const Listed&, const Listed&) = default;
  } listing;
  std::optional<WholeListing> whole;    ///< with a shard: what was listed for all of them
  StoredRecord kept_listing;            ///< beside the manifest: the listing that the backfill began with
  std::vector<LanePosition> positions;  ///< by lane, rising
  struct Skipped {
    std::uint64_t count = 0;        ///< objects behind the positions of which nothing was read
    std::vector<std::string> keys;  ///< of the first of them, at most kSkippedNamed
    void add(std::string key);
    friend bool operator==(const Skipped&, const Skipped&) = default;
  } skipped;
  Quarantine quarantined;               ///< objects behind the positions that could not be read to their end
  std::optional<ReceiptState> receipt;  ///< when one was asked for
  Owner owner;

  [[nodiscard]] const LanePosition* position(std::uint64_t lane) const;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Reads what is written there, or fails (manifest) with the field, what is wrong with it and what it should be. Never
/// crashes on any bytes. The caller adds whose manifest it is and how to go on.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view json);
/// The page's form, indented for people. The inverse of parse_manifest for every manifest it accepts.
[[nodiscard]] std::string to_json(const Manifest& manifest);

/// "2026-07-01T12:00:00.000000Z", exactly as to_rfc3339(time, 6) writes it; nothing for anything else.
[[nodiscard]] std::optional<UnixMicros> parse_time(std::string_view text);

}  // namespace millrace::s3_source
