// SPDX-License-Identifier: Apache-2.0
// The probe at the start of an S3 sink: a small object, written under the sink's prefix and removed if that is allowed.
// Shows missing rights, and whether the store keeps the condition of a put, before a record moves. Control thread.
#pragma once

#include <functional>
#include <string>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/sink/sink.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_sink {

struct Probe {
  ObjectStore* store = nullptr;
  std::string key;
  std::string name;              ///< of the key, for messages
  bool needs_conditions = true;  ///< if_exists is not overwrite
  RetryPolicy retry;
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  std::function<bool()> stop_requested;  ///< ends the probe with `cancelled`; any thread; may be unset
  Logger log;
};

/// Whether create-only puts can be trusted. Retryable errors are tried again, at most retry.max_attempts times. Runs
/// that start together may probe the same key. An object there that is no probe is an error; nothing but a probe is
/// overwritten or removed, as far as looking is allowed. Needs s3:PutObject; does without the rights that it is
/// refused. A stop cancels every call of the store.
[[nodiscard]] Result<bool> run_probe(const Probe& probe);

}  // namespace millrace::s3_sink
