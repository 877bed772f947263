// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/record/record_place.h"

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

using Piece = KeyPattern::Piece;
using Variable = KeyPattern::Variable;

/// What a folder's name has at most in a file system.
constexpr std::size_t kMaxNameBytes = 255;
/// Left free for each name that only a run knows: a stream's, a topic's, an object's.
constexpr std::size_t kNameRoom = 64;
/// Fewer bytes of a value name nothing.
constexpr std::size_t kLeastValueBytes = 16;
/// "/<partition>-<first offset>-<last offset>-<content>." and ".lost" behind the extension.
constexpr std::size_t kFileNameRoom = 1 + 10 + 1 + 20 + 1 + 20 + 1 + 16 + 1 + 5;

/// The most bytes of what stands in a key for a piece of its template, but for values of records.
std::size_t room_for(const Piece& piece) {
  switch (piece.variable) {
    case Variable::literal:
      return piece.text.size();
    case Variable::routed:
      return 0;
    case Variable::year:
      return 4;
    case Variable::month:
    case Variable::day:
    case Variable::hour:
    case Variable::minute:
      return 2;
    case Variable::partition:
    case Variable::date:
      return 10;
    case Variable::timestamp:
      return 15;
    case Variable::start_offset:
    case Variable::end_offset:
      return 19;
    case Variable::uuid:
      return 36;
    default:
      return kNameRoom;
  }
}

/// A key, or one segment of it: how much is left for each value of a record.
struct Room {
  std::size_t taken = 0;
  std::size_t values = 0;
  [[nodiscard]] std::size_t of_each(std::size_t most) const noexcept {
    return values == 0 ? most : taken >= most ? 0 : (most - taken) / values;
  }
};

/// The most bytes that a value may have so that it never ends a run.
Result<std::size_t> room_of_values(const KeyPattern& pattern, std::size_t around, bool in_folders) {
  Room key{around, 0};
  Room segment;
  std::size_t in_segment = kMaxNameBytes;
  for (const Piece& piece : pattern.pieces) {
    key.taken += room_for(piece);
    if (piece.variable == Variable::routed) ++key.values;
    const std::size_t slash = piece.variable == Variable::literal ? piece.text.find('/') : std::string::npos;
    if (slash != std::string::npos) {
      segment.taken += slash;
      in_segment = std::min(in_segment, segment.of_each(kMaxNameBytes));
      segment = {piece.text.size() - piece.text.rfind('/') - 1, 0};
      continue;
    }
    segment.taken += room_for(piece);
    if (piece.variable == Variable::routed) ++segment.values;
  }
  in_segment = std::min(in_segment, segment.of_each(kMaxNameBytes));
  const std::size_t in_key = key.of_each(kMaxKeyBytes);
  if (in_key < kLeastValueBytes) {
    return fail(Error::config(fmt::format(
        "leaves {} bytes for each value of a record, where a key has at most {} and {} are taken by the prefix, the "
        "text around the values and the names of files; at least {} are needed: shorten the prefix or path_template",
        in_key, kMaxKeyBytes, key.taken, kLeastValueBytes)));
  }
  if (in_folders && in_segment < kLeastValueBytes) {
    return fail(Error::config(fmt::format(
        "leaves {} bytes for each value of a record in one of its segments, where a folder's name has at most {}; at "
        "least {} are needed: shorten the text around the values, or put '/' between them",
        in_segment, kMaxNameBytes, kLeastValueBytes)));
  }
  return in_folders ? std::min(in_key, in_segment) : in_key;
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
  if (made.route_.empty()) return made;
  const Options& given = made.options_;
  const std::size_t around =
      given.prefix.size() + (given.prefix.empty() ? 0 : 1) + kFileNameRoom + given.extension.size();
  MILLRACE_ASSIGN(const std::size_t room, room_of_values(made.pattern_, around, given.hides_dots));
  made.route_.max_value = std::min(made.route_.max_value, room);
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
      path += std::to_string(shown_partition(parts).value());
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

/// As the topic counts, where the key names the topic; else two topics would share keys.
PartitionId KeyTemplate::shown_partition(const KeyParts& parts) const {
  const bool own = parts.origin != nullptr && parts.origin->partition && pattern_.has(Variable::topic);
  return own ? *parts.origin->partition : parts.partition;
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
    return fail(
        Error::fatal(ErrorCode::malformed,
                     fmt::format("the first record of the file, at offset {} of {}, has the time {} "
                                 "us, which is outside the years 0 to 9999, so no key can be made from it",
                                 parts.first.value(), partition_place(parts.partition, parts.origin), parts.time)));
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
  fmt::format_to(std::back_inserter(key), "/{:05}-{:020}-{:020}{}{}.{}", shown_partition(parts).value(),
                 parts.first.value(), parts.last.value(), parts.content.empty() ? "" : "-", parts.content,
                 options_.extension);
  if (key.size() <= kMaxKeyBytes) return key;
  return fail(Error::fatal(
      ErrorCode::limit, fmt::format("the key {} would be {} bytes long; a store takes at most {}: shorten the names, "
                                    "the prefix or path_template",
                                    printable_key(key), key.size(), kMaxKeyBytes)));
}

}  // namespace millrace::s3_sink
