// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/json_wrapper.h"

#include <charconv>
#include <cstring>

#include "base/second_text.h"
#include "millrace/decode/json_checker.h"
#include "millrace/encode/json_writer.h"

namespace millrace {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;

// A header's name or value as a JSON string: as it is when it is UTF-8, base64 otherwise.
void write_text_or_base64(std::string_view bytes, ByteBuffer& out) {
  if (is_utf8_text(bytes)) return append_json_string(out, bytes);
  out.push_back('"');
  append_base64(out, bytes);
  out.push_back('"');
}

}  // namespace

JsonWrapper::JsonWrapper(const EncodeSpec& spec)
    : include_metadata_(spec.include_metadata),
      include_headers_(spec.include_headers),
      mark_encoding_(spec.mark_encoding),
      timestamp_digits_(spec.timestamp_digits) {}

void JsonWrapper::begin_batch(const Origin* origin) {
  // Compared by what they say: a new origin may lie where an old one lay.
  const bool same = has_origin_ == (origin != nullptr) &&
                    (origin == nullptr || (origin->stream == stream_ && origin->topic == topic_));
  if (same) return;
  has_origin_ = origin != nullptr;
  stream_ = has_origin_ ? origin->stream : "";
  topic_ = has_origin_ ? origin->topic : "";
  tail_is_made_ = false;
}

void JsonWrapper::put_tail_together(PartitionId shown) {
  ByteBuffer tail;
  if (has_origin_) {
    tail.append(R"(,"stream":)");
    write_text_or_base64(stream_, tail);
    tail.append(R"(,"topic":)");
    write_text_or_base64(topic_, tail);
  }
  tail.append(R"(,"partition_id":)");
  append_decimal(tail, std::uint64_t{shown.value()});
  tail_ = tail.view();
  tail_is_made_ = true;
}

void JsonWrapper::write_timestamp(UnixMicros timestamp, ByteBuffer& out) {
  const std::int64_t micros = timestamp % kMicrosPerSecond;
  const std::int64_t second = timestamp / kMicrosPerSecond - static_cast<std::int64_t>(micros < 0);
  if (second != second_) {
    second_ = second;
    second_has_text_ = put_second(second, second_text_);
  }
  if (!second_has_text_) return;
  constexpr std::string_view kName = R"(,"timestamp":")";
  const auto digits = static_cast<std::size_t>(timestamp_digits_);
  char* to = out.grow(kName.size() + sizeof second_text_ + (digits == 0 ? 0 : digits + 1) + 2);
  std::memcpy(to, kName.data(), kName.size());
  to += kName.size();
  std::memcpy(to, second_text_, sizeof second_text_);
  to += sizeof second_text_;
  if (digits != 0) {
    char nanos[9];
    put_digits(nanos, 9, static_cast<std::uint64_t>(micros < 0 ? micros + kMicrosPerSecond : micros) * 1000);
    *to++ = '.';
    std::memcpy(to, nanos, digits);
    to += digits;
  }
  *to++ = 'Z';
  *to = '"';
}

void JsonWrapper::write_headers(const RecordMeta& meta, ByteBuffer& out) const {
  out.append(R"("headers":{)");
  for (std::size_t i = 0; i < meta.header_count; ++i) {
    if (i != 0) out.push_back(',');
    write_text_or_base64(meta.headers[i].name, out);
    out.push_back(':');
    write_text_or_base64(meta.headers[i].value, out);
  }
  out.append("},");
}

void JsonWrapper::open_coordinates(const RecordMeta& meta, ByteBuffer& out) {
  if (include_metadata_) {
    if (!tail_is_made_ || meta.partition != partition_) [[unlikely]] {
      partition_ = meta.partition;
      put_tail_together(meta.partition_of_topic());
    }
    out.append(R"({"offset":)");
    append_decimal(out, meta.offset.value());
    if (meta.timestamp != kNoTimestamp) write_timestamp(meta.timestamp, out);
    out.append(tail_);
    out.push_back(',');
  } else {
    out.push_back('{');
  }
}

void JsonWrapper::open_payload(const RecordMeta& meta, ByteBuffer& out) const {
  if (include_headers_ && meta.header_count != 0) write_headers(meta, out);
  out.append(R"("payload":)");
}

void JsonWrapper::close(bool base64, ByteBuffer& out) const {
  if (base64 && mark_encoding_) {
    out.append(R"(,"payload_encoding":"base64"})");
  } else {
    out.push_back('}');
  }
}

}  // namespace millrace
