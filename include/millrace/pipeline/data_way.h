// SPDX-License-Identifier: Apache-2.0
// The data's way of one pipeline, as `millrace explain` tells it: its stages in their order, and what stands at each.
// Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace millrace {

/// The rows of the data's way (docs/JOURNEY.md), in its order and with its numbers.
enum class DataStage : std::uint8_t {
  get = 1,
  codec,
  framing,
  source,
  decode,
  transforms,
  encode,
  seal,
  write,
  ack,
  checkpoint,
  commit,
};
[[nodiscard]] constexpr std::string_view name_of(DataStage stage) noexcept {
  constexpr std::array<std::string_view, 13> kNames{"",       "get",        "codec",  "framing", "source",
                                                    "decode", "transforms", "encode", "seal",    "write",
                                                    "ack",    "checkpoint", "commit"};
  return kNames[static_cast<std::size_t>(stage)];
}

/// One thing that holds memory during a run.
struct MemoryPart {
  /// Whose bytes `bytes` counts, where nobody knows yet how many of them there will be.
  enum class Each : std::uint8_t { run, lane, object };
  std::string what;                     ///< "read ahead"
  std::uint64_t bytes = 0;              ///< at most
  std::string why;                      ///< how that comes about, with the option that sets it
  std::optional<DataStage> stage = {};  ///< whose it is; nothing: the process's
  Each each = Each::run;                ///< run: of all together
  friend bool operator==(const MemoryPart&, const MemoryPart&) = default;
};

/// What stands at one stage in this pipeline. Holds no secret: it is shown.
struct StageRow {
  DataStage stage = DataStage::source;
  std::string here;                 ///< "gzip, by name and first bytes"
  std::string thread;               ///< "lane", "sink I/O", "control"
  std::uint64_t threads = 0;        ///< of that kind; 0: not known before the run
  std::vector<MemoryPart> holds{};  ///< between this stage and the next
};

/// What a source knows of itself before it is opened.
struct SourceWay {
  /// Those that it supplies, in order: get, codec, framing, source, commit; a stage that it has not is left out.
  std::vector<StageRow> rows;
  std::vector<MemoryPart> memory;                          ///< each with its stage
  std::optional<std::uint64_t> lanes;                      ///< nothing: only a run finds out
  std::uint64_t longest_record = std::uint64_t{1} << 20U;  ///< bytes of a payload
  std::string record_option;  ///< which option sets that; empty: none does, and longer ones take more memory
};

}  // namespace millrace
#pragma GCC visibility pop
