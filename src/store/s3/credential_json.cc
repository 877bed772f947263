// SPDX-License-Identifier: Apache-2.0
#include "store/s3/credential_json.h"

#include <aws/common/byte_buf.h>
#include <aws/common/json.h>

#include <charconv>
#include <utility>

#include "store/s3/aws_runtime.h"
#include "store/s3/http_date.h"

namespace millrace::s3 {

namespace {

aws_json_value* member(const std::shared_ptr<aws_json_value>& value, std::string_view name) {
  return aws_json_value_get_from_object(value.get(), aws_byte_cursor_from_array(name.data(), name.size()));
}

}  // namespace

std::optional<CredentialJson> CredentialJson::parse(std::string_view text) {
  std::shared_ptr<aws_json_value> value(
      aws_json_value_new_from_string(aws_library(), aws_byte_cursor_from_array(text.data(), text.size())),
      [](aws_json_value* last) { aws_json_value_destroy(last); });
  if (!value || !aws_json_value_is_object(value.get())) return std::nullopt;
  return CredentialJson(std::move(value));
}

std::string CredentialJson::text(std::string_view name) const {
  const aws_json_value* found = member(value_, name);
  aws_byte_cursor bytes{};
  if (found == nullptr || !aws_json_value_is_string(found)) return {};
  if (aws_json_value_get_string(found, &bytes) != AWS_OP_SUCCESS) return {};
  return {reinterpret_cast<const char*>(bytes.ptr), bytes.len};
}

std::optional<double> CredentialJson::number(std::string_view name) const {
  const aws_json_value* found = member(value_, name);
  double value = 0;
  if (found == nullptr || !aws_json_value_is_number(found)) return std::nullopt;
  if (aws_json_value_get_number(found, &value) != AWS_OP_SUCCESS) return std::nullopt;
  return value;
}

std::optional<CredentialJson> CredentialJson::object(std::string_view name) const {
  aws_json_value* found = member(value_, name);
  if (found == nullptr || !aws_json_value_is_object(found)) return std::nullopt;
  return CredentialJson(std::shared_ptr<aws_json_value>(value_, found));
}

std::string with_texts(std::string_view object, const std::vector<std::pair<std::string_view, std::string>>& members) {
  const auto cursor = [](std::string_view text) { return aws_byte_cursor_from_array(text.data(), text.size()); };
  aws_json_value* value = aws_json_value_new_from_string(aws_library(), cursor(object));
  for (const auto& [name, text] : members) {
    aws_json_value_remove_from_object(value, cursor(name));
    aws_json_value_add_to_object(value, cursor(name), aws_json_value_new_string(aws_library(), cursor(text)));
  }
  aws_byte_buf out{};
  aws_byte_buf_init(&out, aws_library(), 256);
  aws_byte_buf_append_json_string(value, &out);
  std::string text(reinterpret_cast<const char*>(out.buffer), out.len);
  aws_byte_buf_clean_up_secure(&out);
  aws_json_value_destroy(value);
  return text;
}

std::optional<UnixMicros> credential_time(std::string_view text) {
  if (text.ends_with("UTC")) return parse_iso_date(std::string(text.substr(0, text.size() - 3)) + "Z");
  constexpr std::size_t kOffset = 6;  // "+01:30"
  if (text.size() < kOffset || (text[text.size() - kOffset] != '+' && text[text.size() - kOffset] != '-')) {
    return parse_iso_date(text);
  }
  const std::string_view offset = text.substr(text.size() - kOffset);
  const auto number = [&](std::size_t at) {
    int value = -1;
    const char* begin = offset.data() + at;
    return std::from_chars(begin, begin + 2, value).ptr == begin + 2 ? value : -1;
  };
  const int hours = number(1);
  const int minutes = number(4);
  const auto local = parse_iso_date(std::string(text.substr(0, text.size() - kOffset)) + "Z");
  if (!local || offset[3] != ':' || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const UnixMicros ahead = UnixMicros{hours * 60 + minutes} * 60'000'000;
  return offset.front() == '+' ? *local - ahead : *local + ahead;
}

}  // namespace millrace::s3
