// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/config_chain.h"

#include <utility>
#include <variant>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/encode/rows_format.h"
#include "millrace/pipeline/compile.h"

namespace millrace {
namespace {

using AnyDecoder = std::variant<decode::RawDecoder, decode::TextDecoder, decode::JsonDecoder, decode::CsvDecoder>;
using AnyEncoder = std::variant<encode::Encoder<encode::DiscardFormat>, encode::Encoder<encode::RawFormat>,
                                encode::Encoder<encode::JsonLinesFormat>, encode::Encoder<encode::JsonArrayFormat>,
                                encode::Encoder<encode::RowsFormat>>;

AnyDecoder decoder_of(const DecodeOptions& options) {
  switch (options.kind) {
    case DecodeOptions::Kind::text:
      return decode::text({.on_error = options.on_error});
    case DecodeOptions::Kind::json:
      return decode::json({.on_error = options.on_error,
                           .reject_duplicate_keys = options.reject_duplicate_keys,
                           .framing = options.framing});
    case DecodeOptions::Kind::csv:
      return decode::csv({.on_error = options.on_error, .types = options.types});
    case DecodeOptions::Kind::none:
    case DecodeOptions::Kind::raw:
      break;
  }
  return decode::raw();
}

AnyEncoder encoder_of(const EncodeSpec& spec, OnError on_error) {
  switch (spec.format) {
    case EncodeFormat::discard:
      return encode::discard();
    case EncodeFormat::json_lines:
      return encode::Encoder<encode::JsonLinesFormat>{{}, encode::JsonLinesFormat(spec), on_error, {}};
    case EncodeFormat::json_array:
      return encode::Encoder<encode::JsonArrayFormat>{{}, encode::JsonArrayFormat(spec), on_error, {}};
    case EncodeFormat::rows:
      return encode::rows(spec, {.on_error = on_error});
    case EncodeFormat::raw:
      break;
  }
  return encode::raw({.on_error = on_error, .delimiter = spec.delimiter});
}

}  // namespace

ChainFactory make_config_chain(const DecodeOptions& decode, const EncodeSpec& encode) {
  return [decode, encode](const ChainContext& context) {
    return std::visit(
        [&context](auto decoder, auto encoder) { return compile(std::move(decoder) | std::move(encoder), context); },
        decoder_of(decode), encoder_of(encode, decode.on_error));
  };
}

}  // namespace millrace
