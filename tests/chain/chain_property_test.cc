// SPDX-License-Identifier: Apache-2.0
// Random batches, thresholds, pauses and orders of writing against a model that knows neither acks nor chunks: it goes
// through the records one by one, cuts files and segments by the rules, and says what must be written, how far a
// watermark may be, and that each operator saw each record once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

// What the chain under test does to one payload, said twice: here and in plan().
struct Outcome {
  std::array<std::vector<std::string>, 2> written;  // per sink
  bool fails = false;
};

Outcome model_of(const std::string& payload) {
  Outcome outcome;
  if (payload.find('f') != std::string::npos) return outcome;  // filtered
  if (payload.find('x') != std::string::npos) {
    outcome.fails = true;
    return outcome;
  }
  if (payload.find('s') != std::string::npos) return outcome;  // skipped
  for (std::size_t i = 0; i < payload.size() % 4; ++i) {
    const std::string child = payload.substr(i);
    outcome.written[0].push_back(child + ";");
    if (child.find('b') == std::string::npos) outcome.written[1].push_back(child + "\n");
  }
  return outcome;
}

auto plan(int& first_saw, int& last_saw) {
  const auto has = [](std::string_view text, char c) { return text.find(c) != std::string_view::npos; };
  const auto refuse = [has](std::string_view text) -> Result<std::string> {
    if (has(text, 'x')) return fail(Error::fatal(ErrorCode::malformed, "x"));
    if (has(text, 's')) return fail(Error::record(ErrorCode::malformed, "s"));
    return std::string(text);
  };
  const auto tails = [](const std::string& text, auto emit) {
    for (std::size_t i = 0; i < text.size() % 4; ++i) emit(text.substr(i));
  };
  return decode::raw() | ops::inspect([&first_saw](std::string_view) { ++first_saw; }) |
         ops::filter([has](std::string_view text) { return !has(text, 'f'); }) |
         ops::try_map(refuse, {.on_error = OnError::skip}) | ops::flat_map(tails) |
         ops::inspect([&last_saw](const std::string&) { ++last_saw; }) |
         ops::fan_out(encode::raw({.delimiter = ";"}).to("a"),
                      ops::filter([has](const std::string& text) { return !has(text, 'b'); }) | encode::raw().to("b"));
}

// Files and segments as the rules cut them. A segment is what one ack answers for: it ends with its batch, or where a
// file was sealed within the batch.
class Model {
 public:
  Model(const std::vector<std::vector<std::string>>& batches, std::array<SealPolicy, 2> policies) {
    std::array<std::vector<std::size_t>, 2> open_segments;
    std::array<std::string, 2> open;
    std::array<std::uint64_t, 2> open_records{};
    for (const auto& batch : batches) {
      for (std::size_t i = 0; i < batch.size() && !fails_; ++i) {
        const Outcome outcome = model_of(batch[i]);
        if (outcome.fails) {
          fails_ = true;
          break;
        }
        ++records_;
        bool sealed = false;
        for (std::size_t sink = 0; sink < 2; ++sink) {
          for (const std::string& text : outcome.written[sink]) {
            open[sink] += text;
            ++open_records[sink];
            open_segments[sink].push_back(ends_.size());
            ++children_;
          }
          const SealPolicy& policy = policies[sink];
          if ((policy.max_bytes != 0 && open[sink].size() >= policy.max_bytes) ||
              (policy.max_records != 0 && open_records[sink] >= policy.max_records)) {
            files[sink].push_back({open[sink], open_segments[sink]});
            open[sink].clear();
            open_records[sink] = 0;
            open_segments[sink].clear();
            sealed = true;
          }
        }
        if (sealed || i + 1 == batch.size()) ends_.push_back(records_);
      }
      if (fails_) break;
    }
    for (std::size_t sink = 0; sink < 2; ++sink) {
      if (open_records[sink] != 0) files[sink].push_back({open[sink], open_segments[sink]});
    }
  }

  // One past the last record of the settled prefix, when `taken` records have passed the chain.
  [[nodiscard]] std::int64_t watermark(std::size_t taken) const {
    std::int64_t settled = 0;
    for (std::size_t segment = 0; segment < ends_.size(); ++segment) {
      const bool waits = std::any_of(files.begin(), files.end(), [segment](const std::vector<File>& all) {
        return std::any_of(all.begin(), all.end(), [segment](const File& file) {
          return !file.durable && std::find(file.segments.begin(), file.segments.end(), segment) != file.segments.end();
        });
      });
      if (waits || ends_[segment] > taken) break;
      settled = static_cast<std::int64_t>(ends_[segment]);
    }
    return settled;
  }
  [[nodiscard]] std::size_t records() const { return records_; }
  [[nodiscard]] bool fails() const { return fails_; }

  struct File {
    std::string text;
    std::vector<std::size_t> segments;
    bool durable = false;
  };
  std::array<std::vector<File>, 2> files;

 private:
  std::vector<std::size_t> ends_;
  std::size_t records_ = 0;
  std::size_t children_ = 0;
  bool fails_ = false;
};

SealPolicy any_policy() {
  SealPolicy policy;
  policy.max_bytes = *rc::gen::inRange<std::size_t>(0, 25);
  policy.max_records = *rc::gen::inRange<std::uint64_t>(0, 7);
  return policy;
}

RC_GTEST_PROP(ChainProperty, INV1_INV4_IsWhatTheModelSays, ()) {
  const auto payload = rc::gen::resize(6, rc::gen::container<std::string>(rc::gen::weightedElement<char>(
                                              {{60, 'a'}, {20, 'b'}, {4, 'f'}, {4, 's'}, {1, 'x'}})));
  const auto batch = rc::gen::nonEmpty(rc::gen::resize(14, rc::gen::container<std::vector<std::string>>(payload)));
  const auto batches = *rc::gen::resize(14, rc::gen::container<std::vector<std::vector<std::string>>>(batch));
  const std::array<SealPolicy, 2> policies{any_policy(), any_policy()};
  Model model(batches, policies);

  // What happens when is drawn from a seed: a size of 0 must not mean that nothing ever becomes durable.
  std::mt19937 chance(*rc::gen::arbitrary<std::uint32_t>());
  const auto below = [&chance](std::size_t limit) { return chance() % limit; };

  int first_saw = 0;
  int last_saw = 0;
  LaneRig rig({{.name = "a", .policy = policies[0]}, {.name = "b", .policy = policies[1]}});
  rig.chain(plan(first_saw, last_saw));
  std::array<std::vector<std::size_t>, 2> waiting;  // files handed over, not durable
  std::array<std::size_t, 2> seen{};
  std::size_t taken = 0;

  const auto check = [&] {
    for (std::size_t sink = 0; sink < 2; ++sink) {
      RigQueue& queue = rig.queue(sink);
      for (; seen[sink] < queue.texts.size(); ++seen[sink]) {
        RC_ASSERT(seen[sink] < model.files[sink].size());
        RC_ASSERT(queue.texts[seen[sink]] == model.files[sink][seen[sink]].text);
        waiting[sink].push_back(seen[sink]);
      }
    }
    RC_ASSERT(rig.watermark() == model.watermark(taken));
  };
  // Any file, in any order: sinks may write several at a time.
  const auto deliver_some = [&](std::size_t count) {
    for (; count > 0; --count) {
      const std::size_t sink = below(2);
      if (waiting[sink].empty()) continue;
      const std::size_t which = below(waiting[sink].size());
      model.files[sink][waiting[sink][which]].durable = true;
      waiting[sink].erase(waiting[sink].begin() + static_cast<std::ptrdiff_t>(which));
      rig.queue(sink).batches[which].chunk.acks.deliver();
      rig.queue(sink).batches.erase(rig.queue(sink).batches.begin() + static_cast<std::ptrdiff_t>(which));
      check();
    }
  };

  for (std::size_t sink = 0; sink < 2; ++sink) rig.queue(sink).room = below(4);
  bool failed = false;
  for (const auto& payloads : batches) {
    rig.poll({payloads.begin(), payloads.end()});
    const std::size_t before = taken;
    while (rig.from < payloads.size()) {
      const ChainStep step = rig.run();
      taken = before + step.next;
      check();
      deliver_some(below(3));
      if (step.error) {
        RC_ASSERT(model.fails());
        failed = true;
        break;
      }
      if (step.next < payloads.size()) RC_ASSERT(rig.outputs.blocked());
      while (rig.outputs.blocked()) {
        for (std::size_t sink = 0; sink < 2; ++sink) {
          rig.queue(sink).room += below(3);
          rig.outputs.all()[sink].second->offer();
        }
        check();
      }
    }
    if (failed) break;
  }
  RC_ASSERT(failed == model.fails());
  RC_ASSERT(taken == model.records());
  RC_ASSERT(first_saw == static_cast<int>(taken) + (failed ? 1 : 0));

  rig.queue(0).room = rig.queue(1).room = 1000;
  rig.seal_all();
  check();
  for (std::size_t sink = 0; sink < 2; ++sink) RC_ASSERT(seen[sink] == model.files[sink].size());
  while (!waiting[0].empty() || !waiting[1].empty()) deliver_some(5);
  RC_ASSERT(rig.watermark() == model.watermark(taken));
  if (!failed) RC_ASSERT(rig.watermark() == static_cast<std::int64_t>(taken));
}

}  // namespace
}  // namespace millrace
