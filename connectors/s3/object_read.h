// SPDX-License-Identifier: Apache-2.0
// ObjectRead: one ranged read of one object on its way, over as many tries as it takes. Belongs to whoever holds the
// fetch loop's baton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "connectors/s3/etag_form.h"
#include "connectors/s3/retry_policy.h"
#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

struct ObjectRead {
  ObjectRead(const RetryPolicy& retry, Random& random) : tries(retry, random) {}
  /// For good.
  void fail(Error why) {
    error = std::move(why);
    state = State::failed;
  }

  std::uint64_t lane = 0;
  std::uint64_t ordinal = 0;
  std::uint64_t offset = 0;
  std::size_t length = 0;
  bool last = false;

  ByteChunk chunk;
  std::size_t charge = 0;
  std::size_t received = 0;  // good bytes at the front of the chunk
  std::size_t furthest = 0;  // the most that any try reached
  enum class State { in_flight, waiting, done, failed } state = State::waiting;
  Tries tries;
  SteadyTime sent_at{};
  SteadyTime retry_at{};
  std::shared_ptr<ReadHandle> handle;
  ReadInfo info;
  std::optional<Error> error;
  std::optional<Error> overwritten;   ///< set while the store is asked what stands there now
  TagForm form = TagForm::as_listed;  ///< of the ETag that it was sent with
  bool respelled = false;             ///< it was sent again because of that
};

}  // namespace millrace::s3_source
