// SPDX-License-Identifier: Apache-2.0
// Why a sink that is to write exactly once cannot, beside the rest of its pipeline: one rule, asked when a
// configuration is read and when a pipeline is built. Each of them says it in its own words. Pure.
#pragma once

#include "millrace/sink/sink.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class ExactlyOnceGap {
  none,     ///< it can, or is not to
  replay,   ///< the source may give other records under the same positions (Source::replay_gap)
  order,    ///< it recalls what it has written, and its batches are not written in order
  receipt,  ///< it recalls, and a receipt names the object of each record, which is not known of what it leaves out
  company,  ///< it seals by content alone, and positions that wait for another sink too rest inside its files
};

/// What stands around the sink.
struct BesideSink {
  bool replays = true;         ///< Source::replay_gap is empty
  bool keeps_account = false;  ///< Source::keeps_account
  bool other_sinks = false;    ///< dead letters too
};

[[nodiscard]] inline ExactlyOnceGap exactly_once_gap(const SinkTraits& traits, const SealPolicy& policy,
                                                     const BesideSink& beside) noexcept {
  if (!traits.recalls && !policy.by_content) return ExactlyOnceGap::none;
  if (!beside.replays) return ExactlyOnceGap::replay;
  if (traits.recalls && !traits.ordered) return ExactlyOnceGap::order;
  if (traits.recalls && beside.keeps_account) return ExactlyOnceGap::receipt;
  if (policy.by_content && beside.other_sinks) return ExactlyOnceGap::company;
  return ExactlyOnceGap::none;
}

}  // namespace millrace
#pragma GCC visibility pop
