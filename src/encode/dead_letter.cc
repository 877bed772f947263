// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/dead_letter.h"

#include <string>

#include "millrace/base/printable.h"
#include "millrace/decode/json_checker.h"
#include "millrace/encode/framed.h"
#include "millrace/encode/json_writer.h"
#include "millrace/record/record_index.h"

namespace millrace {
namespace {

// Coordinates are never left out, whatever the sink writes of its other records: a letter without them leads nowhere.
EncodeSpec letter_spec() {
  EncodeSpec spec;
  spec.wrap = true;
  spec.include_headers = true;
  spec.timestamp_digits = 6;
  spec.mark_encoding = true;
  return spec;
}

void append_base64_string(std::string_view bytes, ByteBuffer& out) {
  out.push_back('"');
  append_base64(out, bytes);
  out.push_back('"');
}

// As keys stand in JSON (rulings): a string when it is UTF-8, else {"base64": "..."}.
void append_bytes(std::string_view name, std::string_view bytes, ByteBuffer& out) {
  out.append(name);
  if (is_utf8_text(bytes)) return append_json_string(out, bytes);
  out.append(R"({"base64":)");
  append_base64_string(bytes, out);
  out.push_back('}');
}

// Foreign code may put any bytes into its errors.
void append_text(std::string_view name, std::string_view text, ByteBuffer& out) {
  out.append(name);
  if (text.size() <= kLongestDeadLetterError && is_utf8_text(text)) return append_json_string(out, text);
  append_json_string(out, printable(text, kLongestDeadLetterError));
}

}  // namespace

DeadLetterFormat::DeadLetterFormat(const EncodeSpec& spec) : spec_(spec), wrapper_(letter_spec()) {}

void DeadLetterFormat::append(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out) {
  switch (spec_.format) {
    case EncodeFormat::discard:
      return;
    case EncodeFormat::raw:
      out.append(letter.payload);
      out.append(spec_.delimiter);
      return;
    case EncodeFormat::rows:  // a letter is no row of theirs
    case EncodeFormat::json_lines:
      append_object(letter, meta, out);
      out.push_back('\n');
      return;
    case EncodeFormat::json_array:
      return append_object(letter, meta, out);
    case EncodeFormat::framed: {
      object_.clear();
      append_object(letter, meta, object_);
      // Without a limit nothing is refused: a letter that its destination does not take is told there.
      [[maybe_unused]] const Result<void> taken = encode::append_framed(out, object_.view(), meta, 0);
      return;
    }
  }
}

void DeadLetterFormat::append_place(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out) {
  if (letter.batch != nullptr) {  // of several records, and maybe of several objects
    out.append(R"("last_offset":)");
    append_decimal(out, letter.batch->last.value());
    out.append(R"(,"records":)");
    append_decimal(out, letter.batch->records);
    append_text(R"(,"sink":)", letter.batch->sink, out);
    return out.push_back(',');
  }
  if (const auto index = record_index(meta)) {
    if (!meta.origin->bucket.empty()) {  // a folder has none
      append_bytes(R"("bucket":)", meta.origin->bucket, out);
      out.push_back(',');
    }
    append_bytes(R"("object":)", meta.origin->object, out);
    out.append(R"(,"record":)");
    append_decimal(out, *index + 1);  // as messages count
    out.push_back(',');
  }
  if (meta.has_key) {
    append_bytes(R"("key":)", meta.key, out);
    out.push_back(',');
  }
}

void DeadLetterFormat::append_object(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out) {
  wrapper_.begin_batch(meta.origin);
  wrapper_.open_coordinates(meta, out);
  append_place(letter, meta, out);
  append_text(R"("stage":)", letter.stage, out);
  append_text(R"(,"reason":)", to_string(letter.reason), out);
  append_text(R"(,"error":)", letter.error, out);
  out.push_back(',');
  wrapper_.open_payload(meta, out);
  const bool text = is_utf8_text(letter.payload);
  if (text) {
    append_json_string(out, letter.payload);
  } else {
    append_base64_string(letter.payload, out);
  }
  wrapper_.close(!text, out);
}

}  // namespace millrace
