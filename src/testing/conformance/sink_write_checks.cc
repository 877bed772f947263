// SPDX-License-Identifier: Apache-2.0
// Rules of one write: what success means, what an error means, what a second try does.
#include <fmt/format.h>

#include <algorithm>

#include "testing/conformance/sink_case.h"

namespace millrace::conformance {
namespace {

std::string as_text(const IdempotencyToken& token) {
  return fmt::format("lane {}, sequence {}", token.lane.value(), token.sequence);
}

Outcome success_is_durable(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.write_three(made)) return not_tried(driver.failure());
  if (const std::string lost = test.not_there(made.records); !lost.empty()) {
    return broken(fmt::format("write said success, and the record {} is not in the destination", lost));
  }
  driver.kill();
  if (const std::string lost = test.not_there(made.records); !lost.empty()) {
    return broken(
        fmt::format("write said success, and once the writer was gone, without a close, the record {} was "
                    "gone from the destination",
                    lost));
  }
  return kept(fmt::format("{} records", made.records.size()));
}

Outcome failure_is_told(const SinkCase& test) {
  if (!test.world.fail_next) return not_applicable("no hook `fail_next` was given");
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.start() || !driver.make(PartitionId(0), 0, 3, made)) return not_tried(driver.failure());
  if (auto asked = driver.ask(made); !asked) return not_tried(asked.error().message());
  test.world.fail_next();
  if (!driver.write(made)) return kept();
  const std::string lost = test.not_there(made.records);
  if (lost.empty()) return kept("the writer has tried again by itself");
  return broken(
      fmt::format("the destination refused the batch, write said success, and the record {} is not there", lost));
}

Outcome failure_is_classed(const SinkCase& test) {
  if (!test.world.fail_next) return not_applicable("no hook `fail_next` was given");
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.start() || !driver.make(PartitionId(0), 0, 3, made)) return not_tried(driver.failure());
  if (auto asked = driver.ask(made); !asked) return not_tried(asked.error().message());
  test.world.fail_next();
  const Result<void> written = driver.write(made);
  if (written) return not_applicable("the failure was not told");
  if (!written.error().is_retryable()) {
    return broken(fmt::format("a failure that passes is retryable; this one is {} ({}): {}",
                              to_string(written.error().error_class()), to_string(written.error().code()),
                              written.error().message()));
  }
  if (auto again = driver.write(made); !again) {
    return broken("the same batch is not taken when it is tried again: " + again.error().message());
  }
  return kept(written.error().message());
}

Outcome retry_writes_once(const SinkCase& test) {
  if (!test.options.idempotent) return not_applicable("the sink promises no more than at least once");
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.write_three(made)) return not_tried(driver.failure());
  if (auto again = driver.write(made); !again) {
    return broken("a batch that is there already is not taken again: " + again.error().message());
  }
  for (const std::string& record : made.records) {
    if (const std::size_t times = test.times(record); times > 1) {
      return broken(fmt::format("a batch was tried twice with the same token ({}), and the record {} is there {} times",
                                as_text(made.batches.front().token), record, times));
    }
  }
  return kept();
}

Outcome batch_left_as_it_is(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.start() || !driver.make(PartitionId(0), 0, 3, made)) return not_tried(driver.failure());
  if (auto asked = driver.ask(made); !asked) return not_tried(asked.error().message());
  SealedBatch& batch = made.batches.front();
  const std::string bytes(batch.chunk.bytes.view());
  const std::uint64_t records = batch.chunk.records;
  const Offset first = batch.chunk.first_offset;
  const Offset last = batch.chunk.last_offset;
  const IdempotencyToken token = batch.token;
  const auto changed = [&](std::string_view after) -> std::string {
    if (batch.chunk.bytes.view() != bytes) {
      return fmt::format("after {} the batch has {} bytes, which are not the {} it had", after,
                         batch.chunk.bytes.size(), bytes.size());
    }
    if (batch.chunk.records != records || batch.chunk.first_offset != first || batch.chunk.last_offset != last ||
        batch.token != token) {
      return fmt::format("after {} the batch has another count, other offsets or another token", after);
    }
    return {};
  };
  if (test.world.fail_next) {
    test.world.fail_next();
    std::ignore = driver.write(made);
    if (const std::string how = changed("a write that failed"); !how.empty()) return broken(how);
  }
  if (auto written = driver.write(made); !written) return not_tried(written.error().message());
  if (const std::string how = changed("a write"); !how.empty()) return broken(how);
  return kept();
}

Outcome tokens_tell_batches_apart(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  MadeBatches one;
  MadeBatches other;
  if (!driver.write_three(one)) return not_tried(driver.failure());
  if (!test.not_there(one.records).empty()) return not_tried("the first batch is not there");
  if (!driver.make(PartitionId(0), 3, 3, other, 0)) return not_tried(driver.failure());
  if (auto written = driver.write(other); !written) {
    return broken("a batch with the bytes of another one is not taken: " + written.error().message());
  }
  for (const std::string& record : one.records) {
    if (const std::size_t times = test.times(record); times < 2) {
      return broken(
          fmt::format("two batches with the same bytes, other offsets and other tokens were written, and the "
                      "record {} is there {} times",
                      record, times));
    }
  }
  return kept();
}

Outcome order_is_kept(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (!driver.sink().traits().ordered) return not_applicable("the sink promises no order");
  std::vector<std::string> expected;
  for (std::uint64_t first = 0; first < 9; first += 3) {
    MadeBatches made;
    if (!driver.write_three(made, first)) return not_tried(driver.failure());
    expected.insert(expected.end(), made.records.begin(), made.records.end());
  }
  std::vector<std::string> there;
  for (std::string& record : test.world.durable()) {
    const bool known = std::ranges::find(expected, record) != expected.end();
    if (known && std::ranges::find(there, record) == there.end()) there.push_back(std::move(record));
  }
  if (there.size() != expected.size()) return not_tried("not all records are there");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (there[i] != expected[i]) {
      return broken(fmt::format("of one partition the record {} was written as number {}, and a reader gets {} there",
                                expected[i], i, there[i]));
    }
  }
  return kept();
}

constexpr SinkCheck kChecks[] = {
    {"success_is_durable", "success means durable: whatever becomes of the writer, the batch is there",
     success_is_durable},
    {"failure_is_told", "a batch that the destination did not take is an error", failure_is_told},
    {"failure_is_classed", "an error that may pass is retryable, and the same batch is taken then", failure_is_classed},
    {"retry_writes_once", "a batch that is tried again with the same token is there once", retry_writes_once},
    {"batch_left_as_it_is", "a sealed batch is the same after a write, as it may be tried again", batch_left_as_it_is},
    {"tokens_tell_batches_apart", "batches with other tokens are other batches, whatever their bytes",
     tokens_tell_batches_apart},
    {"order_is_kept", "where the sink is ordered, batches of a partition are read in the order of their writes",
     order_is_kept},
};

}  // namespace

std::span<const SinkCheck> sink_write_checks() { return kChecks; }

}  // namespace millrace::conformance
