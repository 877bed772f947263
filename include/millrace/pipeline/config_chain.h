// SPDX-License-Identifier: Apache-2.0
// The chain of a pipeline that is configured rather than written: one decoder, one encoder, one sink.
#pragma once

#include "millrace/decode/csv.h"
#include "millrace/decode/json.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/ops/transforms.h"
#include "millrace/pipeline/chain.h"
#include "millrace/record/on_error.h"

#pragma GCC visibility push(default)
namespace millrace {

/// The `decode` section, as data.
struct DecodeOptions {
  enum class Kind {
    none,  ///< payloads pass as they came
    raw,   ///< the same, said on purpose
    text,
    json,
    csv,  ///< rows of a source that frames csv
  } kind = Kind::none;
  OnError on_error = OnError::fail;
  bool reject_duplicate_keys = false;                         ///< json
  decode::JsonFraming framing = decode::JsonFraming::single;  ///< json
  CsvTypes types = CsvTypes::strings;                         ///< csv
};

/// Makes a chain per lane, to the lane's only sink, for any pair of decoder and format. Which pair it is, is settled
/// when a lane's chain is built, not per record. What cannot be encoded is treated as what cannot be decoded is.
[[nodiscard]] ChainFactory make_config_chain(const DecodeOptions& decode, const EncodeSpec& encode);
/// The same with transforms behind the decoder. They are for JSON: payloads that no decoder makes documents of are
/// checked to be JSON. What they cannot be applied to is treated as what cannot be decoded is.
[[nodiscard]] ChainFactory make_config_chain(const DecodeOptions& decode, const EncodeSpec& encode,
                                             const ops::TransformProgram& transforms);

}  // namespace millrace
#pragma GCC visibility pop
