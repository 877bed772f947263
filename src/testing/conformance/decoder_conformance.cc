// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/decoder_conformance.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "millrace/base/bytes.h"
#include "millrace/testing/sealed_shelf.h"
#include "testing/conformance/check.h"

namespace millrace::conformance {
namespace {

constexpr char kScribble = '\x01';

/// One chain with a lane's end of a sink.
class DecoderDriver {
 public:
  DecoderDriver(const DecoderFactory& factory, const DecoderSamples& samples, OnError on_error) : samples_(samples) {
    LaneSink::Options ends;
    outputs_.add("sink", std::make_unique<LaneSink>(std::move(ends), shelf_));
    ChainContext context;
    context.pipeline = "conformance";
    context.outputs = &outputs_;
    auto made = factory(context, on_error);
    if (made && *made) {
      chain_ = *std::move(made);
    } else {
      failure_ = made ? "the factory made no chain" : made.error().message();
    }
  }

  struct Run {
    std::string bytes;  ///< as sealed after the payloads' memory was overwritten
    ChainCounts counts;
    ChainStep step;
    bool payload_changed = false;
    [[nodiscard]] std::uint64_t skipped() const {
      std::uint64_t all = 0;
      for (const auto& [reason, count] : counts.skipped) all += count;
      return all;
    }
  };
  /// One batch of `payloads`, each in memory of its own: of its own size, or with `padding` readable bytes behind it.
  [[nodiscard]] Run run(const std::vector<std::string>& payloads, std::size_t padding = kBytePadding) {
    std::vector<std::unique_ptr<char[]>> memory;
    std::vector<std::string_view> views;
    for (const std::string& payload : payloads) {
      memory.push_back(std::make_unique<char[]>(payload.size() + padding));
      std::ranges::copy(payload, memory.back().get());
      views.emplace_back(memory.back().get(), payload.size());
    }
    PayloadBatch batch;
    batch.payloads = views;
    batch.base_offset = Offset(next_);
    batch.readable_padding = padding;
    batch.origin = samples_.origin;
    next_ += static_cast<std::int64_t>(payloads.size());
    Run out;
    AckRef ack;
    AckIssuer issuer;
    out.step = chain_->run(batch, 0, ack, issuer, out.counts);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      out.payload_changed = out.payload_changed || views[i] != payloads[i];
      std::memset(memory[i].get(), kScribble, payloads[i].size() + padding);
    }
    memory.clear();
    outputs_.find("")->seal(SealReason::lane_end);
    for (const SealedBatch& sealed : shelf_.batches) out.bytes += sealed.chunk.bytes.view();
    shelf_.batches.clear();
    return out;
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  const DecoderSamples& samples_;
  testing::SealedShelf shelf_;
  LaneOutputs outputs_;
  std::unique_ptr<LaneChain> chain_;
  std::string failure_;
  std::int64_t next_ = 0;
};

struct DecoderCase {
  DecoderFactory factory;
  DecoderSamples samples;
};

Outcome good_payloads_pass(const DecoderCase& test) {
  DecoderDriver driver(test.factory, test.samples, OnError::fail);
  if (!driver.failure().empty()) return broken("the chain was not made: " + driver.failure());
  for (std::size_t i = 0; i < test.samples.good.size(); ++i) {
    const auto run = driver.run({test.samples.good[i]});
    if (run.step.error) return broken(fmt::format("good payload {}: {}", i, run.step.error->message()));
    if (run.step.next != 1 || run.counts.records_in != 1) return broken(fmt::format("good payload {} is not taken", i));
    if (run.counts.records_decoded == 0 || run.bytes.empty()) {
      return broken(fmt::format("good payload {} becomes no record, and nothing is said of it", i));
    }
  }
  return kept();
}

// With `fail` the run stops right before the bad payload, and what was before it has gone through.
Outcome bad_payload_is_told(const DecoderCase& test) {
  if (test.samples.bad.empty()) return not_applicable("the decoder takes everything");
  for (std::size_t i = 0; i < test.samples.bad.size(); ++i) {
    DecoderDriver driver(test.factory, test.samples, OnError::fail);
    if (!driver.failure().empty()) return not_tried(driver.failure());
    const auto run = driver.run({test.samples.good.front(), test.samples.bad[i]});
    if (!run.step.error) return broken(fmt::format("bad payload {} is taken, though the policy is to fail", i));
    if (run.step.next != 1)
      return broken(fmt::format("bad payload {} is at index 1, the run stops at {}", i, run.step.next));
    if (!run.step.error->is_record()) {
      return broken(fmt::format("bad payload {} is an error of its record; this one is {}: {}", i,
                                to_string(run.step.error->error_class()), run.step.error->message()));
    }
    if (run.bytes.empty()) return broken(fmt::format("the good payload before bad payload {} is lost", i));
  }
  return kept();
}

Outcome skipped_is_counted(const DecoderCase& test) {
  if (test.samples.bad.empty()) return not_applicable("the decoder takes everything");
  for (std::size_t i = 0; i < test.samples.bad.size(); ++i) {
    DecoderDriver driver(test.factory, test.samples, OnError::skip);
    if (!driver.failure().empty()) return not_tried(driver.failure());
    const std::string good = driver.run({test.samples.good.front()}).bytes;
    const auto run = driver.run({test.samples.good.front(), test.samples.bad[i], test.samples.good.front()});
    if (run.step.error) {
      return broken(
          fmt::format("bad payload {} ends the run, though the policy is to skip: {}", i, run.step.error->message()));
    }
    if (run.skipped() != 1) {
      return broken(fmt::format("bad payload {} is skipped, and {} are counted", i, run.skipped()));
    }
    if (run.bytes != good + good)
      return broken(fmt::format("the good neighbours of bad payload {} come out otherwise", i));
  }
  return kept();
}

Outcome payload_is_not_kept(const DecoderCase& test) {
  DecoderDriver driver(test.factory, test.samples, OnError::skip);
  if (!driver.failure().empty()) return not_tried(driver.failure());
  std::string all;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& payload : test.samples.good) all += driver.run({payload}).bytes;
  }
  const std::size_t at = all.find(kScribble);
  if (at == std::string::npos) return kept();
  return broken(
      fmt::format("byte {} of what comes out is what a payload's memory held after its batch was through", at));
}

Outcome batches_do_not_matter(const DecoderCase& test) {
  DecoderDriver one(test.factory, test.samples, OnError::skip);
  DecoderDriver each(test.factory, test.samples, OnError::skip);
  if (!one.failure().empty() || !each.failure().empty()) return not_tried(one.failure() + each.failure());
  std::string apart;
  for (const std::string& payload : test.samples.good) apart += each.run({payload}).bytes;
  const std::string together = one.run(test.samples.good).bytes;
  if (together == apart) return kept();
  return broken(fmt::format("payloads in one batch become {} bytes, and the same in batches of one {} bytes, or others",
                            together.size(), apart.size()));
}

Outcome padding_is_not_needed(const DecoderCase& test) {
  DecoderDriver with(test.factory, test.samples, OnError::skip);
  DecoderDriver without(test.factory, test.samples, OnError::skip);
  if (!with.failure().empty() || !without.failure().empty()) return not_tried(with.failure() + without.failure());
  std::vector<std::string> payloads = test.samples.good;
  payloads.insert(payloads.end(), test.samples.bad.begin(), test.samples.bad.end());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    if (with.run({payloads[i]}).bytes == without.run({payloads[i]}, 0).bytes) continue;
    return broken(fmt::format("payload {} comes out otherwise when no byte behind it may be read", i));
  }
  return kept();
}

Outcome payload_left_as_it_is(const DecoderCase& test) {
  DecoderDriver driver(test.factory, test.samples, OnError::skip);
  if (!driver.failure().empty()) return not_tried(driver.failure());
  if (driver.run(test.samples.good).payload_changed || driver.run(test.samples.bad).payload_changed) {
    return broken("the lane's memory was written to: a payload is lent to be read");
  }
  return kept();
}

constexpr Check<DecoderCase> kChecks[] = {
    {"good_payloads_pass", "a good payload becomes records", good_payloads_pass},
    {"bad_payload_is_told", "with `fail` a bad payload stops the run right before it, as an error of its record",
     bad_payload_is_told},
    {"skipped_is_counted", "with `skip` a bad payload is counted, once, and its neighbours pass", skipped_is_counted},
    {"payload_is_not_kept", "nothing of a payload is used once its batch is through", payload_is_not_kept},
    {"batches_do_not_matter", "what a payload becomes does not depend on which batch it comes in",
     batches_do_not_matter},
    {"padding_is_not_needed", "bytes behind a payload are read only where readable_padding says so",
     padding_is_not_needed},
    {"payload_left_as_it_is", "a payload is read, never written to", payload_left_as_it_is},
};

}  // namespace

std::vector<Rule> decoder_rules(DecoderFactory factory, DecoderSamples samples) {
  std::vector<Rule> rules;
  add_rules(rules, std::span<const Check<DecoderCase>>(kChecks),
            [factory, samples] { return DecoderCase{factory, samples}; });
  return rules;
}

}  // namespace millrace::conformance
