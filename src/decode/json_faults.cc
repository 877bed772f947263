// SPDX-License-Identifier: Apache-2.0
#include "decode/json_faults.h"

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Does a line look like one of several that make a pretty-printed document: `{`, `"a": 1,`, `],`?
bool is_part_of_pretty_print(std::string_view document, const JsonFault& fault) {
  const std::string_view line = trimmed(document);
  if (line.empty() || line.find_first_of("\r\n") != std::string_view::npos) return false;
  const bool opens = fault.at >= document.size() && (line.back() == '{' || line.back() == '[' || line.back() == ',');
  const bool closes = line.front() == '}' || line.front() == ']';
  const bool member = line.front() == '"' && fault.at < document.size() &&
                      (document[fault.at] == ':' || (document[fault.at] == ',' && line.back() == ','));
  return opens || closes || member;
}

}  // namespace

std::string json_hint(const JsonFault& fault, std::string_view document) {
  if (document.starts_with("\xEF\xBB\xBF")) {
    return "the payload begins with a UTF-8 byte order mark, which JSON does not allow; write it without";
  }
  if (document.starts_with("\x1F\x8B")) return "the payload begins like gzip: is the compression of the source right?";
  if (document.starts_with("\x28\xB5\x2F\xFD")) {
    return "the payload begins like zstd: is the compression of the source right?";
  }
  if (document.starts_with("\xFF\xFE") || document.starts_with("\xFE\xFF")) {
    return "the payload begins like UTF-16; JSON here is UTF-8";
  }
  if (fault.code != ErrorCode::malformed) return {};
  if (is_part_of_pretty_print(document, fault)) {
    return trimmed(document).front() == '['
               ? "this looks like one line of an array printed over several lines; NDJSON wants each document on a "
                 "line "
                 "of its own, format: json_array takes the elements of one array"
               : "this looks like one line of a document printed over several lines; NDJSON wants each document on a "
                 "line of its own (`jq -c .` rewrites it so)";
  }
  if (fault.at < document.size()) {
    const char found = document[fault.at];
    const std::string_view before = trimmed(document.substr(0, fault.at));
    const bool behind_document = !before.empty() && (before.back() == '}' || before.back() == ']');
    if (behind_document && (found == '{' || found == '[') && std::string_view(fault.what).starts_with("something")) {
      return document.substr(0, fault.at).find('\n') == std::string_view::npos
                 ? "several documents stand side by side without a newline between them; write each on a line of its "
                   "own"
                 : "the payload holds several documents; `decode.json.framing: lines` takes one a line";
    }
    if (found == '\'') return "JSON strings stand in double quotes";
    const std::string_view rest = document.substr(fault.at);
    if (rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity")) {
      return "JSON has no NaN and no Infinity; write null or a string";
    }
    if (rest.starts_with("None") || rest.starts_with("True") || rest.starts_with("False")) {
      return "this looks like Python's print; json.dumps writes JSON";
    }
    if (found == '/' || found == '#') return "JSON has no comments";
    if ((found == '}' || found == ']') && !before.empty() && before.back() == ',') {
      return "JSON allows no comma before the closing brace or bracket";
    }
  }
  return {};
}

Error json_error(const JsonFault& fault, std::string_view document) {
  std::string text;
  switch (fault.code) {
    case ErrorCode::duplicate_key:
    case ErrorCode::wrong_type:
    case ErrorCode::too_large:
    case ErrorCode::limit:
      text = fmt::format("{} (byte {})", fault.what, fault.at);
      break;
    default:
      text = fmt::format("not valid JSON at byte {}: {}", fault.at, fault.what);
      break;
  }
  if (const std::string hint = json_hint(fault, document); !hint.empty()) text += "; " + hint;
  return Error::record(fault.code, std::move(text));
}

}  // namespace millrace
