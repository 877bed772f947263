// SPDX-License-Identifier: Apache-2.0
// What `millrace plan` asks of a source, and the words in which all parts of a pipeline answer: memory that a run holds
// at most (INV-7), rights that it needs. Values; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "millrace/base/bounded.h"
#include "millrace/base/time.h"
#include "millrace/pipeline/data_way.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// A right that a run needs.
struct NeededRight {
  std::string action;  ///< "s3:GetObject"; of files "read" or "write"
  std::string on;      ///< what it is needed on: "s3://bucket/prefix*"
  std::string why;
  friend bool operator==(const NeededRight&, const NeededRight&) = default;
};

/// What is to be found out, and what is known of the run besides its source.
struct PlanRequest {
  bool sniff = false;  ///< a bounded sample of the input may be read; otherwise nothing of it is
  bool json = false;
  bool keeps_position = true;  ///< false: where the position is kept goes with the run
  Duration checkpoint_interval = std::chrono::seconds(5);
  std::vector<NeededRight> sink_rights;
  /// What engine and sink hold, for so many lanes and a longest record of so many bytes.
  std::function<std::vector<MemoryPart>(std::uint64_t lanes, std::uint64_t longest_record)> memory_behind_source;
};

/// What `millrace explain` knows of the run besides its sink, and what is to be found out.
struct ExplainRequest {
  bool json = false;
  /// As the records will say it; `object` is an example. Null: the source cannot tell, and examples are made up.
  const Origin* names = nullptr;
  /// Payloads to tell the keys of; null: none were given.
  const std::vector<std::string>* records = nullptr;
};

[[nodiscard]] inline std::uint64_t total_of(const std::vector<MemoryPart>& parts) noexcept {
  std::uint64_t total = 0;
  for (const MemoryPart& part : parts) total = bounded_sum(total, part.bytes);
  return total;
}

}  // namespace millrace
#pragma GCC visibility pop
