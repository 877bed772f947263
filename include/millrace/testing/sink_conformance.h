// SPDX-License-Identifier: Apache-2.0
// The rules of a sink and its writers, tried on one: batches are encoded and sealed by a lane's own end of the sink,
// written, written again, and looked for in the destination, where only success may be believed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/pipeline/chain.h"
#include "millrace/sink/sink.h"
#include "millrace/testing/conformance.h"

#pragma GCC visibility push(default)
namespace millrace::conformance {

/// A destination, as one rule finds it: empty.
struct SinkUnderTest {
  /// Required. An instance that writes there; called again where a rule restarts.
  std::function<Result<std::unique_ptr<Sink>>()> make{};
  /// Required. The records that would be there if the machine lost power now, as SinkOptions::record made them, those
  /// of one partition in the order in which a reader gets them. Asks the destination, never the sink.
  std::function<std::vector<std::string>()> durable{};
  /// The destination refuses what is asked of it next, and takes it when asked again.
  std::function<void()> fail_next{};
  /// Released after the last instance.
  std::shared_ptr<void> keep{};
};
using SinkFactory = std::function<SinkUnderTest()>;

/// JSON: {"partition":0,"n":7}.
[[nodiscard]] std::string numbered_record(PartitionId partition, std::uint64_t n);

struct SinkOptions {
  /// How payloads become chunks; nothing: as they are, a line feed behind each.
  ChainFactory chain{};
  std::function<std::string(PartitionId partition, std::uint64_t n)> record = numbered_record;
  /// A batch that is written again with the same token is there once.
  bool idempotent = true;
  Duration patience = std::chrono::seconds(20);  ///< for a close
};

/// Each rule by itself, on a fresh SinkUnderTest.
[[nodiscard]] std::vector<Rule> sink_rules(SinkFactory factory, SinkOptions options = {});
[[nodiscard]] inline Report sink(SinkFactory factory, SinkOptions options = {}) {
  return try_rules(sink_rules(std::move(factory), std::move(options)));
}

}  // namespace millrace::conformance
#pragma GCC visibility pop
