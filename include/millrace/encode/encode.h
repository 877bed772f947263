// SPDX-License-Identifier: Apache-2.0
// Encoders as parts of a chain: a format, the sink it goes to, and what becomes of a record that cannot be written.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "millrace/encode/encode_spec.h"
#include "millrace/encode/formats.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"

#pragma GCC visibility push(default)
namespace millrace::encode {

template <class Format>
struct Encoder : ChainPart {
  Format format;
  OnError on_error = OnError::fail;
  std::string sink;  ///< empty: the pipeline's only one
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  /// Sends the records to the sink of this name.
  [[nodiscard]] Encoder to(std::string name) && {
    sink = std::move(name);
    return std::move(*this);
  }
  template <class Binder>
  auto bind(Binder& binder, const std::string& at) && {
    return binder.bind_encoder(std::move(format), on_error, sink, at + " (" + std::string(Format::kName) + ")");
  }
};

struct JsonOptions {
  OnError on_error = OnError::fail;
  /// A wrapper object with `payload`; otherwise the record itself is the value. The rest is about the wrapper.
  bool wrap = false;
  bool include_metadata = true;  ///< offset, timestamp, stream, topic, partition_id
  bool include_headers = false;  ///< headers, where a record has some
  int timestamp_digits = 0;      ///< of a second: 0, 3, 6 or 9
  bool mark_encoding = false;    ///< payload_encoding: base64 beside a base64 payload
};
struct RawOptions {
  OnError on_error = OnError::fail;
  std::string delimiter = "\n";
};
struct CustomOptions {
  OnError on_error = OnError::fail;
};

namespace detail {
[[nodiscard]] inline EncodeSpec spec_of(EncodeFormat format, const JsonOptions& options) {
  EncodeSpec spec;
  spec.format = format;
  spec.wrap = options.wrap;
  spec.include_metadata = options.include_metadata;
  spec.include_headers = options.include_headers;
  spec.timestamp_digits = options.timestamp_digits;
  spec.mark_encoding = options.mark_encoding;
  return spec;
}
}  // namespace detail

/// One JSON value a line.
[[nodiscard]] inline Encoder<JsonLinesFormat> json_lines(const JsonOptions& options = {}) {
  return {{}, JsonLinesFormat(detail::spec_of(EncodeFormat::json_lines, options)), options.on_error, {}};
}
/// One element of a JSON array; the sink must write json_array files (its Envelope).
[[nodiscard]] inline Encoder<JsonArrayFormat> json_array(const JsonOptions& options = {}) {
  return {{}, JsonArrayFormat(detail::spec_of(EncodeFormat::json_array, options)), options.on_error, {}};
}
/// The record's bytes and a delimiter.
[[nodiscard]] inline Encoder<RawFormat> raw(RawOptions options = {}) {
  return {{}, RawFormat(std::move(options.delimiter)), options.on_error, {}};
}
/// Counted, not written.
[[nodiscard]] inline Encoder<DiscardFormat> discard() { return {{}, DiscardFormat(), OnError::fail, {}}; }
/// Whatever `callable(const T&, const RecordMeta&, ByteBuffer&)` appends; it returns Result<void>, and what it appended
/// before an error is taken back.
template <class Callable>
[[nodiscard]] Encoder<CustomFormat<std::decay_t<Callable>>> with(Callable&& callable, CustomOptions options = {}) {
  return {{}, CustomFormat<std::decay_t<Callable>>(std::forward<Callable>(callable)), options.on_error, {}};
}

}  // namespace millrace::encode
#pragma GCC visibility pop
