// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/quarantine.h"

#include <xxhash.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

using Place = std::pair<std::uint64_t, std::uint64_t>;

Place place_of(const QuarantinedObject& object) { return {object.lane, object.ordinal}; }

}  // namespace

void set_aside(Quarantine& quarantine, QuarantinedObject object) {
  const auto at = std::ranges::lower_bound(quarantine, place_of(object), {}, place_of);
  if (at != quarantine.end() && place_of(*at) == place_of(object)) {
    *at = std::move(object);
  } else {
    quarantine.insert(at, std::move(object));
  }
}

const QuarantinedObject* find(const Quarantine& quarantine, std::uint64_t lane, std::uint64_t ordinal) {
  const Place place{lane, ordinal};
  const auto at = std::ranges::lower_bound(quarantine, place, {}, place_of);
  return at != quarantine.end() && place_of(*at) == place ? &*at : nullptr;
}

bool is_fault_of_object(ErrorCode code) noexcept {
  return code == ErrorCode::not_found || code == ErrorCode::precondition_failed || code == ErrorCode::drift ||
         is_fault_of_bytes(code);
}

bool is_fault_of_bytes(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::corrupt:
    case ErrorCode::truncated:
    case ErrorCode::too_large:
    case ErrorCode::malformed:
    case ErrorCode::wrong_type:
    case ErrorCode::missing_field:
    case ErrorCode::unknown_field:
    case ErrorCode::duplicate_key:
    case ErrorCode::invalid_utf8:
      return true;
    default:
      return false;
  }
}

std::string reason_of(const Error& error) {
  std::string reason = printable(error.message());
  std::size_t end = std::min(reason.size(), kReasonLimit);
  const auto inside_character = [&] { return end < reason.size() && (reason[end] & '\xC0') == '\x80'; };
  while (end > 0 && inside_character()) --end;
  reason.resize(end);
  return reason;
}

void RecordsHash::fold(std::string_view record) noexcept {
  hash_ = XXH3_64bits_withSeed(record.data(), record.size(), hash_);
}

}  // namespace millrace::s3_source
