// SPDX-License-Identifier: Apache-2.0
// DataWay: what stands at each stage of one configured pipeline, who works there, and what is held at most behind it
// (INV-7). From its parts alone; nothing is opened. Pure.
#pragma once

#include <string>
#include <vector>

#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/data_way.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/sink/sink.h"

namespace millrace {

/// A sink that is made and not opened, and what its writers do (SinkKind::place; empty: its type is all there is to
/// say).
struct PlacedSink {
  const Sink* sink = nullptr;  ///< null: there is none
  std::string place;
};

/// The parts of a pipeline. What is pointed to outlives the call.
struct WayParts {
  const PipelineOptions* options = nullptr;
  SourceWay source;
  const DecodeOptions* decode = nullptr;
  const ops::TransformProgram* transforms = nullptr;
  PlacedSink sink;
  PlacedSink letters;  ///< of the dead letters
};

struct DataWay {
  std::vector<StageRow> rows;      ///< in the data's order; those of dead letters behind the sink's
  std::vector<MemoryPart> beside;  ///< of no stage
};

[[nodiscard]] DataWay data_way(WayParts parts);

}  // namespace millrace
