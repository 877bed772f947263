// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_sink {
namespace {

/// The `index`th value of a route.
std::string_view value_of(std::string_view route, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t slash = route.find('/');
    route.remove_prefix(slash == std::string_view::npos ? route.size() : slash + 1);
  }
  return route.substr(0, route.find('/'));
}

}  // namespace

Result<KeyTemplate> KeyTemplate::parse(Options options) {
  KeyTemplate made;
  MILLRACE_ASSIGN(made.pattern_, KeyPattern::parse(options.pattern));
  made.options_ = std::move(options);
  made.route_.parts = made.pattern_.route;
  // Several long values must not make a key longer than there may be.
  if (made.route_.parts.size() > 2) made.route_.max_value = std::min<std::size_t>(255, 640 / made.route_.parts.size());
  made.route_.names = made.options_.names;
  made.route_.hides_dots = made.options_.hides_dots;
  made.route_.on_missing = made.options_.on_missing;
  made.route_.fallback = made.options_.null_fallback;
  if (made.front().size() > kMaxKeyBytes) {
    return fail(Error::config(fmt::format("every key would be longer than {} bytes", kMaxKeyBytes)));
  }
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
  if (!pattern_.pieces.empty() && pattern_.pieces.front().variable == Variable::literal)
    text += pattern_.pieces.front().text;
  return text;
}

/// A variable's value as part of one segment: nothing in it can end the segment.
void KeyTemplate::append_name(std::string& path, std::string_view name) const {
  append_object_name(path, name, options_.names);
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
    case Variable::uuid:
      path += parts.uuid;
      break;
    case Variable::routed:
      path += value_of(parts.route, piece.value);
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

std::string KeyTemplate::kept(std::string_view segment) const {
  std::string name(segment);
  keep_segment(name, 0, options_.names, options_.hides_dots);
  return name;
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
  if (pattern_.per_object() && (parts.origin == nullptr || parts.origin->object.empty())) {
    return fail(Error::fatal(ErrorCode::config,
                             "path_template names {object}, but the source reads no objects; use {topic} instead"));
  }
  if (!route_.empty() && parts.route.empty()) {
    return fail(Error::fatal(ErrorCode::rule_broken, "a file of records that are kept apart came without its route"));
  }
  std::string path;
  for (const Piece& piece : pattern_.pieces) append(path, piece, parts);
  std::string key = options_.prefix;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!key.empty()) key += '/';
    key += kept(std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  fmt::format_to(std::back_inserter(key), "/{:05}-{:020}-{:020}{}{}.{}", parts.partition.value(), parts.first.value(),
                 parts.last.value(), parts.content.empty() ? "" : "-", parts.content, options_.extension);
  if (key.size() <= kMaxKeyBytes) return key;
  return fail(Error::fatal(
      ErrorCode::limit, fmt::format("the key {} would be {} bytes long; a store takes at most {}: shorten the names, "
                                    "the prefix or path_template",
                                    printable_key(key), key.size(), kMaxKeyBytes)));
}

}  // namespace millrace::s3_sink
