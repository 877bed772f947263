// SPDX-License-Identifier: Apache-2.0
// How much memory a run holds at most behind its source, part by part (INV-7), from what its options and its sink say.
// Pure; the sink is not opened.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/pipeline/plan.h"
#include "millrace/sink/sink.h"

namespace millrace {

/// `lanes`: nothing where only a run finds out; what lanes hold is told of one of them then. `longest_record`: bytes of
/// one payload at most. `letters`: the sink of the dead letters; null: there is none. `transforms` may be empty.
[[nodiscard]] std::vector<MemoryPart> memory_bound(const PipelineOptions& options, const DecodeOptions& decode,
                                                   const Sink& sink, const Sink* letters,
                                                   std::optional<std::uint64_t> lanes, std::uint64_t longest_record,
                                                   const ops::TransformProgram& transforms = {});

}  // namespace millrace
