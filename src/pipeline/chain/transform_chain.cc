// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/compile.h"
#include "pipeline/chain/config_parts.h"

namespace millrace {

Result<std::unique_ptr<LaneChain>> compile_with_transforms(const DecodeOptions& decode, const EncodeSpec& encode,
                                                           const ops::Transforms& transforms,
                                                           const ChainContext& context) {
  return std::visit(
      [&](auto encoder) {
        if (decode.kind == DecodeOptions::Kind::csv) {
          return compile(csv_decoder_of(decode) | transforms | std::move(encoder), context);
        }
        return compile(json_decoder_of(decode) | transforms | std::move(encoder), context);
      },
      encoder_of(encode, decode.on_error));
}

}  // namespace millrace
