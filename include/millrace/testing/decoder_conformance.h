// SPDX-License-Identifier: Apache-2.0
// The rules of a decoder, tried on one inside a chain that ends in an encoder: what is good passes, what is not is told
// or counted, and nothing of a payload is used once its batch is through.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/pipeline/chain.h"
#include "millrace/testing/conformance.h"

#pragma GCC visibility push(default)
namespace millrace::conformance {

struct DecoderSamples {
  std::vector<std::string> good;           ///< at least two; each becomes one record or more
  std::vector<std::string> bad;            ///< each is an error of its record; empty: the decoder takes everything
  std::shared_ptr<const Origin> origin{};  ///< of every payload; for rows, with their columns
};

/// A chain `decoder | encoder` for the only sink, with this policy for records that cannot be decoded.
using DecoderFactory = std::function<Result<std::unique_ptr<LaneChain>>(const ChainContext&, OnError)>;

[[nodiscard]] std::vector<Rule> decoder_rules(DecoderFactory factory, DecoderSamples samples);
[[nodiscard]] inline Report decoder(DecoderFactory factory, DecoderSamples samples) {
  return try_rules(decoder_rules(std::move(factory), std::move(samples)));
}

}  // namespace millrace::conformance
#pragma GCC visibility pop
