// SPDX-License-Identifier: Apache-2.0
// Quarantine: objects that cannot be read and were set aside (docs/adr/0011-quarantine.md), as the manifest names them.
// Values; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/offset.h"
#include "millrace/base/error.h"

namespace millrace::s3_source {

/// So many objects at most: more are no bad objects but a wrong setting.
inline constexpr std::size_t kMostQuarantined = 10'000;
/// Bytes of a reason that are kept.
inline constexpr std::size_t kReasonLimit = 512;

/// An object that was resumed, whose committed records could not all be counted off: only the same ETag proves that a
/// mended one is the same.
inline constexpr std::uint64_t kHashUnknown = 0;

/// How far a retry of one object is.
struct RetryProgress {
  std::string etag;           ///< of the version that it reads
  std::uint64_t records = 0;  ///< written of it, those before it was set aside included
  friend bool operator==(const RetryProgress&, const RetryProgress&) = default;
};

struct QuarantinedObject {
  std::uint64_t lane = 0;
  std::uint64_t ordinal = 0;  ///< within the lane
  std::string key;
  std::string etag;  ///< as listed, with its size
  std::uint64_t size = 0;
  std::uint64_t records = 0;       ///< delivered: the index of the first record that is not
  std::uint64_t records_hash = 0;  ///< RecordsHash over them; kHashUnknown when they could not be read again
  std::uint64_t byte = 0;          ///< stored bytes read when the fault was met
  std::string code;                ///< of the error: to_string(ErrorCode)
  std::string reason;              ///< its words, for people; at most kReasonLimit
  std::optional<RetryProgress> retry;

  [[nodiscard]] Position position() const { return {ordinal, records}; }
  friend bool operator==(const QuarantinedObject&, const QuarantinedObject&) = default;
};

/// By lane and ordinal, rising, each at most once.
using Quarantine = std::vector<QuarantinedObject>;

/// Puts `object` in its place, over what stands there.
void set_aside(Quarantine& quarantine, QuarantinedObject object);
[[nodiscard]] const QuarantinedObject* find(const Quarantine& quarantine, std::uint64_t lane, std::uint64_t ordinal);

/// True for errors that are the object's own fault; the others end the run whatever was asked for.
[[nodiscard]] bool is_fault_of_object(ErrorCode code) noexcept;
/// Of these, what stands in an object, not that it is gone or another.
[[nodiscard]] bool is_fault_of_bytes(ErrorCode code) noexcept;

/// The words of `error`, without what could harm a terminal, cut to kReasonLimit.
[[nodiscard]] std::string reason_of(const Error& error);

/// Rolling hash of records: h = XXH3_64(record, seed = h), from 0.
class RecordsHash {
 public:
  void fold(std::string_view record) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }
  void reset() noexcept { hash_ = 0; }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace millrace::s3_source
