// SPDX-License-Identifier: Apache-2.0
// Goal: the suite of decoders notices each broken rule, and blames no other. Method: one chain for each, of a format
// whose good payloads begin with "ok".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/testing/decoder_conformance.h"

namespace millrace::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Wrong {
  none,
  drops_in_silence,
  takes_bad_ones,
  skips_uncounted,
  keeps_a_view,
  remembers_the_batch_before,
  relies_on_padding,
  writes_to_the_payload,
};

class WrongChain final : public LaneChain {
 public:
  WrongChain(Wrong wrong, OnError on_error, LaneSink& sink) : wrong_(wrong), on_error_(on_error), sink_(&sink) {}

  ChainStep run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer&, ChainCounts& counts) override {
    sink_->begin_batch(batch);
    for (std::size_t i = from; i < batch.payloads.size(); ++i) {
      ++counts.records_in;
      const std::string_view payload = batch.payloads[i];
      const bool good = payload.starts_with("ok") || (wrong_ == Wrong::takes_bad_ones && on_error_ == OnError::fail);
      if (!good && on_error_ == OnError::fail) {
        return {i, Error::record(ErrorCode::malformed, "it does not begin with ok")};
      }
      if (!good) {
        if (wrong_ != Wrong::skips_uncounted) counts.skip(ErrorCode::malformed);
        continue;
      }
      if (wrong_ == Wrong::drops_in_silence && payload == "ok two") continue;
      ++counts.records_decoded;
      push(batch, i, ack);
    }
    return {batch.payloads.size(), std::nullopt};
  }

 private:
  void push(const PayloadBatch& batch, std::size_t i, const AckRef& ack) {
    const std::string_view payload = batch.payloads[i];
    ByteBuffer& out = sink_->begin_record(batch.meta(i));
    // What the memory of a payload is by now. A read of it would be a report of ASan, so the byte stands in for it.
    if (wrong_ == Wrong::keeps_a_view && payload == "ok two") out.append("\x01");
    if (wrong_ == Wrong::remembers_the_batch_before && i == 0 && payload == "ok three") out.append("at last ");
    if (wrong_ == Wrong::relies_on_padding && batch.readable_padding == 0) out.append("?");
    out.append(payload);
    out.append("\n");
    sink_->end_record(batch.meta(i), ack);
    if (wrong_ == Wrong::writes_to_the_payload) const_cast<char*>(payload.data())[0] = 'O';
  }

  const Wrong wrong_;
  const OnError on_error_;
  LaneSink* const sink_;
};

DecoderFactory wrong_decoder(Wrong wrong) {
  return [wrong](const ChainContext& context, OnError on_error) -> Result<std::unique_ptr<LaneChain>> {
    return std::make_unique<WrongChain>(wrong, on_error, *context.outputs->find(""));
  };
}

const DecoderSamples kSamples{.good = {"ok one", "ok two", "ok three"}, .bad = {"no", "neither"}};

struct Broken {
  Wrong wrong;
  const char* rule;
};

class BrokenDecoder : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenDecoder, IsNamed) {
  const Report report = decoder(wrong_decoder(GetParam().wrong), kSamples);
  EXPECT_THAT(report.rules(Verdict::broken), ElementsAre(GetParam().rule)) << report.to_text();
}

INSTANTIATE_TEST_SUITE_P(OneRuleEach, BrokenDecoder,
                         ::testing::Values(Broken{Wrong::drops_in_silence, "good_payloads_pass"},
                                           Broken{Wrong::takes_bad_ones, "bad_payload_is_told"},
                                           Broken{Wrong::skips_uncounted, "skipped_is_counted"},
                                           Broken{Wrong::keeps_a_view, "payload_is_not_kept"},
                                           Broken{Wrong::remembers_the_batch_before, "batches_do_not_matter"},
                                           Broken{Wrong::relies_on_padding, "padding_is_not_needed"},
                                           Broken{Wrong::writes_to_the_payload, "payload_left_as_it_is"}),
                         [](const auto& broken) { return std::string(broken.param.rule); });

TEST(DecoderSuite, TriesEveryRule) {
  const Report report = decoder(wrong_decoder(Wrong::none), kSamples);
  EXPECT_THAT(report.rules(Verdict::broken), IsEmpty()) << report.to_text();
  EXPECT_THAT(report.rules(Verdict::not_applicable), IsEmpty()) << report.to_text();
}

}  // namespace
}  // namespace millrace::conformance
