// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/config_chain.h"

#include <utility>
#include <variant>

#include "millrace/decode/raw.h"
#include "millrace/pipeline/compile.h"
#include "pipeline/chain/config_parts.h"

namespace millrace {
namespace {

using AnyDecoder = std::variant<decode::RawDecoder, decode::TextDecoder, decode::JsonDecoder, decode::CsvDecoder>;
AnyDecoder decoder_of(const DecodeOptions& options) {
  switch (options.kind) {
    case DecodeOptions::Kind::text:
      return decode::text({.on_error = options.on_error});
    case DecodeOptions::Kind::json:
      return json_decoder_of(options);
    case DecodeOptions::Kind::csv:
      return csv_decoder_of(options);
    case DecodeOptions::Kind::none:
    case DecodeOptions::Kind::raw:
      break;
  }
  return decode::raw();
}

}  // namespace

decode::JsonDecoder json_decoder_of(const DecodeOptions& options) {
  return decode::json({.on_error = options.on_error,
                       .reject_duplicate_keys = options.reject_duplicate_keys,
                       .framing = options.framing});
}

decode::CsvDecoder csv_decoder_of(const DecodeOptions& options) {
  return decode::csv({.on_error = options.on_error, .types = options.types});
}

AnyEncoder encoder_of(const EncodeSpec& spec, OnError on_error) {
  switch (spec.format) {
    case EncodeFormat::discard:
      return encode::discard();
    case EncodeFormat::json_lines:
      return encode::Encoder<encode::JsonLinesFormat>{{}, encode::JsonLinesFormat(spec), on_error, {}};
    case EncodeFormat::json_array:
      return encode::Encoder<encode::JsonArrayFormat>{{}, encode::JsonArrayFormat(spec), on_error, {}};
    case EncodeFormat::framed:
      return encode::framed(spec, {.on_error = on_error});
    case EncodeFormat::rows:
      return encode::rows(spec, {.on_error = on_error});
    case EncodeFormat::raw:
      break;
  }
  return encode::raw({.on_error = on_error, .delimiter = spec.delimiter});
}

ChainFactory make_config_chain(const DecodeOptions& decode, const EncodeSpec& encode) {
  return [decode, encode](const ChainContext& context) {
    return std::visit(
        [&context](auto decoder, auto encoder) { return compile(std::move(decoder) | std::move(encoder), context); },
        decoder_of(decode), encoder_of(encode, decode.on_error));
  };
}

ChainFactory make_config_chain(const DecodeOptions& decode, const EncodeSpec& encode,
                               const ops::TransformProgram& transforms) {
  if (transforms.empty()) return make_config_chain(decode, encode);
  const ops::Transforms part = ops::transforms(transforms, {.on_error = decode.on_error});
  return [decode, encode, part](const ChainContext& context) {
    return compile_with_transforms(decode, encode, part, context);
  };
}

}  // namespace millrace
