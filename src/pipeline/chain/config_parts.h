// SPDX-License-Identifier: Apache-2.0
// The parts that a configuration chooses among. Each set is compiled with each of the other, so the two kinds of chain
// (config_chain.cc, transform_chain.cc) are apart.
#pragma once

#include <variant>

#include "millrace/encode/encode.h"
#include "millrace/encode/framed.h"
#include "millrace/encode/rows_format.h"
#include "millrace/ops/transforms.h"
#include "millrace/pipeline/config_chain.h"

namespace millrace {

using AnyEncoder = std::variant<encode::Encoder<encode::DiscardFormat>, encode::Encoder<encode::RawFormat>,
                                encode::Encoder<encode::JsonLinesFormat>, encode::Encoder<encode::JsonArrayFormat>,
                                encode::Encoder<encode::RowsFormat>, encode::Encoder<encode::FramedFormat>>;

[[nodiscard]] AnyEncoder encoder_of(const EncodeSpec& spec, OnError on_error);
[[nodiscard]] decode::JsonDecoder json_decoder_of(const DecodeOptions& options);
[[nodiscard]] decode::CsvDecoder csv_decoder_of(const DecodeOptions& options);

/// Documents through `transforms`, of whatever decoder gives some.
[[nodiscard]] Result<std::unique_ptr<LaneChain>> compile_with_transforms(const DecodeOptions& decode,
                                                                         const EncodeSpec& encode,
                                                                         const ops::Transforms& transforms,
                                                                         const ChainContext& context);

}  // namespace millrace
