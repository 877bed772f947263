// SPDX-License-Identifier: Apache-2.0
// What the transforms of one list share while one record passes. Lane thread; owned by the runner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/error.h"
#include "millrace/base/time.h"
#include "millrace/record/record_meta.h"

namespace millrace::transforms {

/// What a transform did to a document.
enum class Effect : std::uint8_t {
  untouched,
  edited,    ///< the edits say how
  narrowed,  ///< the document is a part of itself (RunContext::part)
  dropped,
  failed,  ///< RunContext::failure says why
};

struct RunContext {
  const Clock* clock = nullptr;
  Random* random = nullptr;
  const RecordMeta* meta = nullptr;
  std::uint64_t record = 0;              ///< counts them, from 1
  UnixMicros clock_says = kNoTimestamp;  ///< asked once per record
  std::string_view part;
  std::optional<Error> failure;

  void begin(const RecordMeta& of) {
    meta = &of;
    ++record;
    clock_says = kNoTimestamp;
    failure.reset();
  }
  [[nodiscard]] UnixMicros now() {
    if (clock_says == kNoTimestamp) clock_says = clock->unix_micros();
    return clock_says;
  }
  [[gnu::cold]] Effect fail(ErrorCode code, std::string text) {
    failure = Error::record(code, std::move(text));
    return Effect::failed;
  }
};

}  // namespace millrace::transforms
