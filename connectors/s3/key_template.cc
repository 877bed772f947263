// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/config/config.h"

namespace millrace::s3_sink {
namespace {

/// Variables of a later version, so that a template that asks for one is told so.
constexpr std::string_view kLater[] = {"key", "uuid"};

bool is_later(std::string_view name) {
  return name.starts_with("header.") || name.starts_with("field.") ||
         std::ranges::find(kLater, name) != std::end(kLater);
}

bool is_dots(std::string_view segment) { return segment == "." || segment == ".."; }

/// The problems of what stands in the template as it is.
void check_literals(std::string_view pattern, std::vector<std::string>& problems) {
  if (pattern.empty()) {
    problems.emplace_back("is empty; it needs {topic} or {object} at least");
    return;
  }
  if (pattern.find_first_of(std::string_view("\0\r\n\t", 4)) != std::string_view::npos) {
    problems.emplace_back("holds a control character");
  }
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', begin), pattern.size());
    const std::string_view segment = pattern.substr(begin, end - begin);
    if (segment.empty() || is_dots(segment)) {
      problems.push_back(fmt::format("at character {}: {}", begin + 1,
                                     segment.empty() ? "an empty segment; write no slash at the ends and none twice"
                                                     : fmt::format("the segment '{}' leads to other names", segment)));
    }
    begin = end + 1;
  }
}

}  // namespace

struct KeyTemplate::Known {
  std::string name;
  Variable variable;
};

const std::vector<KeyTemplate::Known>& KeyTemplate::known() {
  static const std::vector<Known> all = {
      {"stream", Variable::stream},
      {"topic", Variable::topic},
      {"partition", Variable::partition},
      {"date", Variable::date},
      {"hour", Variable::hour},
      {"timestamp", Variable::timestamp},
      {"year", Variable::year},
      {"month", Variable::month},
      {"day", Variable::day},
      {"minute", Variable::minute},
      {"start_offset", Variable::start_offset},
      {"end_offset", Variable::end_offset},
      {"object", Variable::object},
      {"object.dir", Variable::object_dir},
      {"object.name", Variable::object_name},
      {"object.stem", Variable::object_stem},
  };
  return all;
}

Result<KeyTemplate> KeyTemplate::parse(Options options) {
  KeyTemplate made;
  made.options_ = std::move(options);
  const std::string_view pattern = made.options_.pattern;
  std::vector<std::string> problems;
  check_literals(pattern, problems);
  std::vector<std::string> names;
  for (const Known& k : known()) names.push_back(k.name);
  const auto list = [&] { return fmt::format("known are {{{}}}", fmt::join(names, "} {")); };
  bool identified = false;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t brace = std::min(pattern.find_first_of("{}", at), pattern.size());
    if (brace > at) made.pieces_.push_back({Variable::literal, std::string(pattern.substr(at, brace - at))});
    if (brace == pattern.size()) break;
    const std::size_t end = pattern.find_first_of("{}", brace + 1);
    if (pattern[brace] == '}' || end == std::string_view::npos || pattern[end] == '{') {
      problems.push_back(
          fmt::format("at character {}: a '{}' without its counterpart; a variable is written {{name}}, and a key "
                      "cannot hold braces",
                      brace + 1, pattern[brace]));
      at = brace + 1;
      continue;
    }
    const std::string name(pattern.substr(brace + 1, end - brace - 1));
    const auto found = std::ranges::find(known(), name, &Known::name);
    if (found != known().end()) {
      const Variable variable = found->variable;
      made.pieces_.push_back({variable, ""});
      made.per_object_ = made.per_object_ || variable >= Variable::object;
      identified = identified || variable == Variable::topic || variable == Variable::object;
    } else if (is_later(name)) {
      problems.push_back(
          fmt::format("at character {}: {{{}}} is not available yet; {}", brace + 1, printable(name), list()));
    } else {
      const auto near = nearest_name(name, names);
      problems.push_back(fmt::format("at character {}: unknown placeholder {{{}}}; {}{}", brace + 1, printable(name),
                                     near ? fmt::format("did you mean {{{}}}? ", *near) : "", list()));
    }
    at = end + 1;
  }
  if (problems.empty() && !identified) {
    problems.emplace_back("two sources could write one key under it: add {topic}, or {object}");
  }
  if (problems.empty() && made.front().size() > kMaxKeyBytes) {
    problems.push_back(fmt::format("every key would be longer than {} bytes", kMaxKeyBytes));
  }
  if (!problems.empty()) return fail(Error::config(fmt::format("{}", fmt::join(problems, "\n"))));
  return made;
}

std::string KeyTemplate::encoded(std::string_view name) const {
  std::string segment;
  append_name(segment, name);
  return kept(segment);
}

std::string KeyTemplate::beside(std::string_view rest) const {
  return options_.prefix.empty() ? std::string(rest) : fmt::format("{}/{}", options_.prefix, rest);
}

std::string KeyTemplate::front() const {
  std::string text = options_.prefix.empty() ? "" : options_.prefix + "/";
  if (!pieces_.empty() && pieces_.front().variable == Variable::literal) text += pieces_.front().text;
  return text;
}

/// A variable's value as part of one segment: nothing in it can end the segment.
void KeyTemplate::append_name(std::string& path, std::string_view name) const {
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      path += c;
    } else if (options_.names == NameEncoding::percent) {
      fmt::format_to(std::back_inserter(path), "%{:02X}", byte);
    } else if ((byte & 0xC0U) != 0x80U) {  // one '_' for a character, not for each of its bytes
      path += '_';
    }
  }
}

/// A key as a path: its slashes stay, so that folders map to folders.
void KeyTemplate::append_path(std::string& path, std::string_view key) const {
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    if (begin != 0) path += '/';
    append_name(path, key.substr(begin, end - begin));
    begin = end + 1;
  }
}

void KeyTemplate::append_time(std::string& path, Variable variable, UnixMicros time) const {
  using std::chrono::days;
  const std::chrono::sys_time<std::chrono::microseconds> point{std::chrono::microseconds(time)};
  const auto day = std::chrono::floor<days>(point);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(point - day);
  auto out = std::back_inserter(path);
  const int year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const auto day_of_month = static_cast<unsigned>(date.day());
  switch (variable) {
    case Variable::date:
      fmt::format_to(out, "{:04}-{:02}-{:02}", year, month, day_of_month);
      break;
    case Variable::year:
      fmt::format_to(out, "{:04}", year);
      break;
    case Variable::month:
      fmt::format_to(out, "{:02}", month);
      break;
    case Variable::day:
      fmt::format_to(out, "{:02}", day_of_month);
      break;
    case Variable::hour:
      fmt::format_to(out, "{:02}", clock.hours().count());
      break;
    case Variable::minute:
      fmt::format_to(out, "{:02}", clock.minutes().count());
      break;
    default:
      fmt::format_to(out, "{}", std::chrono::floor<std::chrono::milliseconds>(point).time_since_epoch().count());
      break;
  }
}

void KeyTemplate::append(std::string& path, const Piece& piece, const KeyParts& parts) const {
  const std::string_view object = parts.origin == nullptr ? std::string_view() : parts.origin->object;
  const std::size_t slash = object.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? object : object.substr(slash + 1);
  switch (piece.variable) {
    case Variable::literal:
      path += piece.text;
      break;
    case Variable::stream:
      append_name(path, parts.origin == nullptr ? parts.pipeline : std::string_view(parts.origin->stream));
      break;
    case Variable::topic:
      append_name(path, parts.origin == nullptr ? std::string_view("source") : std::string_view(parts.origin->topic));
      break;
    case Variable::partition:
      path += std::to_string(parts.partition.value());
      break;
    case Variable::start_offset:
      path += std::to_string(parts.first.value());
      break;
    case Variable::end_offset:
      path += std::to_string(parts.last.value());
      break;
    case Variable::object:
      append_path(path, object);
      break;
    case Variable::object_dir:
      append_path(path, slash == std::string_view::npos ? std::string_view() : object.substr(0, slash));
      break;
    case Variable::object_name:
      append_name(path, name);
      break;
    case Variable::object_stem: {
      const std::size_t dot = name.find('.', 1);  // "a.ndjson.gz" is "a"; a dot in front begins a name
      append_name(path, name.substr(0, dot));
      break;
    }
    default:
      append_time(path, piece.variable, parts.time);
      break;
  }
}

/// A segment that a value has made empty, a way to other folders, or one that is never listed, as a name of its own.
std::string KeyTemplate::kept(std::string_view segment) const {
  const bool percent = options_.names == NameEncoding::percent;
  if (segment.empty()) return percent ? "%00" : "_";
  if (!is_dots(segment)) {
    const bool hidden = options_.hides_dots && segment.starts_with('.');
    return hidden ? (percent ? "%2E" : "_") + std::string(segment.substr(1)) : std::string(segment);
  }
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) out += percent ? "%2E" : "_";
  return out;
}

Result<std::string> KeyTemplate::render(const KeyParts& parts) const {
  // Years of four digits: what lies outside is no time but a wrong unit.
  constexpr UnixMicros kFirst = -62'167'219'200'000'000;  // 0000-01-01
  constexpr UnixMicros kEnd = 253'402'300'800'000'000;    // 10000-01-01
  if (parts.time < kFirst || parts.time >= kEnd) {
    return fail(Error::fatal(ErrorCode::malformed,
                             fmt::format("the first record of the file, at offset {} of partition {}, has the time {} "
                                         "us, which is outside the years 0 to 9999, so no key can be made from it",
                                         parts.first.value(), parts.partition.value(), parts.time)));
  }
  if (per_object_ && (parts.origin == nullptr || parts.origin->object.empty())) {
    return fail(Error::fatal(ErrorCode::config,
                             "path_template names {object}, but the source reads no objects; use {topic} instead"));
  }
  std::string path;
  for (const Piece& piece : pieces_) append(path, piece, parts);
  std::string key = options_.prefix;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!key.empty()) key += '/';
    key += kept(std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  fmt::format_to(std::back_inserter(key), "/{:05}-{:020}-{:020}.{}", parts.partition.value(), parts.first.value(),
                 parts.last.value(), options_.extension);
  if (key.size() <= kMaxKeyBytes) return key;
  return fail(Error::fatal(
      ErrorCode::limit, fmt::format("the key {} would be {} bytes long; a store takes at most {}: shorten the names, "
                                    "the prefix or path_template",
                                    printable_key(key), key.size(), kMaxKeyBytes)));
}

}  // namespace millrace::s3_sink
