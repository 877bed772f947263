// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: the checker, the cursor and a second opinion (strict_json.h) agree on what is JSON, in place and
// copied, and what is given on is what came.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decode/strict_json.h"
#include "millrace/base/check.h"
#include "millrace/decode/json_checker.h"
#include "millrace/decode/json_read.h"

namespace {

struct Inner {
  std::string_view text;
  std::optional<double> number;
};
MILLRACE_JSON_FIELDS(Inner, text, number);
struct Record {
  std::int64_t a = 0;
  std::vector<Inner> b;
  std::optional<millrace::decode::Json> c;
};
MILLRACE_JSON_FIELDS(Record, a, b, c);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  StrictJson strict(document);
  const bool sound = strict.is_document();

  static JsonChecker checker;
  decode::Json json;
  checker.reject_duplicate_keys(false);
  MILLRACE_CHECK(checker.check(document, 0, json) == sound, "copied, the checker agrees with the second opinion");
  if (!sound) static_cast<void>(checker.error());

  // In place, in front of what would like to belong to the document.
  const std::string room = std::string(document) + std::string(32, '9') + std::string(32, '"');
  MILLRACE_CHECK(checker.check({room.data(), size}, 64, json) == sound, "in place, too");
  MILLRACE_CHECK(!sound || json.view == document, "a document is given on as it came");

  checker.reject_duplicate_keys(true);
  const bool unrepeated = checker.check(document, 0, json);
  MILLRACE_CHECK(unrepeated == (sound && !strict.repeated_key), "repeated keys are found");
  if (sound && !unrepeated) {
    MILLRACE_CHECK(checker.error().code() == ErrorCode::duplicate_key, "and called that");
  }

  static JsonCursor cursor;
  cursor.unknown_fields(UnknownFields::ignore);
  MILLRACE_CHECK((cursor.open(document, 0) && read_json(cursor, json) && cursor.close()) == sound,
                 "the cursor agrees when any value will do");
  static Record record;
  if (cursor.open({room.data(), size}, 64) && read_json(cursor, record) && cursor.close()) {
    MILLRACE_CHECK(sound, "no type takes what is not JSON");
  } else {
    const Error error = cursor.error();
    MILLRACE_CHECK(error.is_record() && !error.message().empty(), "a fault has words");
    MILLRACE_CHECK(sound || error.code() == ErrorCode::malformed || error.code() == ErrorCode::invalid_utf8 ||
                       error.code() == ErrorCode::limit,
                   "what is not JSON is called that before anything else");
  }

  std::vector<decode::Json> elements;
  checker.reject_duplicate_keys(false);
  if (checker.check_array(document, 0, elements)) {
    for (const decode::Json& element : elements) {
      MILLRACE_CHECK(StrictJson(element.view).is_document(), "elements of an array are documents");
    }
  }
  return 0;
}
