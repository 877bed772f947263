// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/record_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

using From = RouteSpec::Part::From;

std::string_view header_of(const RecordMeta& meta, std::string_view name) {
  for (std::size_t i = meta.header_count; i > 0; --i) {
    if (meta.headers[i - 1].name == name) return meta.headers[i - 1].value;
  }
  return {};
}

std::string words_of(const RouteSpec::Part& part) {
  switch (part.from) {
    case From::key:
      return "{key}";
    case From::header:
      return "{header." + part.name + "}";
    case From::field:
      break;
  }
  return "{field." + part.name + "}";
}

}  // namespace

std::string_view why_no_value(ErrorCode reason) noexcept {
  switch (reason) {
    case ErrorCode::wrong_type:
      return "holds an object or an array, which names nothing";
    case ErrorCode::malformed:
      return "was looked for in what is no JSON document";
    case ErrorCode::too_large:
      return "is too long for a name";
    default:
      return "is absent, null or empty";
  }
}

RecordRouter::RecordRouter(RouteSpec spec)
    : spec_(std::move(spec)), values_(spec_.parts.size()), found_(spec_.parts.size(), Found::nothing) {
  cursor_.unknown_fields(UnknownFields::ignore);
  for (std::size_t part = 0; part < spec_.parts.size(); ++part) {
    if (spec_.parts[part].from != From::field) continue;
    if (levels_.empty()) add_level();
    const std::string_view path = spec_.parts[part].name;
    std::size_t level = 0;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string_view name = path.substr(begin, end - begin);
      const auto known = std::ranges::find(levels_[level].names, name);
      const auto at = static_cast<std::size_t>(known - levels_[level].names.begin());
      if (known == levels_[level].names.end()) {
        levels_[level].names.push_back(name);
        levels_[level].part.push_back(-1);
        levels_[level].below.push_back(-1);
      }
      if (end == path.size()) {
        levels_[level].part[at] = static_cast<int>(part);
      } else {
        if (levels_[level].below[at] < 0) {
          const std::size_t below = add_level();
          levels_[level].below[at] = static_cast<int>(below);
        }
        level = static_cast<std::size_t>(levels_[level].below[at]);
      }
      begin = end + 1;
    }
  }
}

std::size_t RecordRouter::add_level() {
  levels_.emplace_back();
  return levels_.size() - 1;
}

Result<std::string_view> RecordRouter::route_of(const std::string_view* document, std::size_t readable_padding,
                                                const RecordMeta& meta) {
  std::ranges::fill(found_, Found::nothing);
  const bool sound = !looks_inside() || (document != nullptr && walk(*document, readable_padding));
  route_.clear();
  for (std::size_t part = 0; part < values_.size(); ++part) {
    if (spec_.parts[part].from != From::field) {
      take(part, spec_.parts[part].from == From::key ? meta.key : header_of(meta, spec_.parts[part].name));
    }
    if (part != 0) route_ += '/';
    MILLRACE_TRY(settle(part, sound || spec_.parts[part].from != From::field));
  }
  return std::string_view(route_);
}

/// Appends the value of one part to the route, or what stands for it.
Result<void> RecordRouter::settle(std::size_t part, bool sound) {
  const Found found = found_[part];
  if (sound && found == Found::value && values_[part].size() <= spec_.max_value) [[likely]] {
    const std::size_t begin = route_.size();
    route_ += values_[part];
    keep_segment(route_, begin, spec_.names, spec_.hides_dots);
    // A dot may have become three characters.
    if (route_.size() - begin <= spec_.max_value) [[likely]]
      return {};
    route_.resize(begin);
  }
  const ErrorCode reason = !sound                      ? ErrorCode::malformed
                           : found == Found::structure ? ErrorCode::wrong_type
                           : found == Found::value     ? ErrorCode::too_large
                                                       : ErrorCode::missing_field;
  if (spec_.on_missing == RouteSpec::OnMissing::fail) return fail(missing(part, reason));
  const auto known = std::ranges::find(fallbacks_, reason, &Counts::value_type::first);
  if (known != fallbacks_.end()) {
    ++known->second;
  } else {
    fallbacks_.emplace_back(reason, 1);
  }
  route_ += spec_.fallback;
  return {};
}

Error RecordRouter::missing(std::size_t part, ErrorCode reason) const {
  return Error::record(
      reason,
      fmt::format("the record names no key: {} {}; with on_missing_field: fallback it would go "
                  "to '{}'",
                  printable(words_of(spec_.parts[part]), 200), why_no_value(reason), printable(spec_.fallback, 100)));
}

void RecordRouter::take(std::size_t part, std::string_view value) {
  if (value.empty()) return;
  found_[part] = Found::value;
  values_[part].clear();
  // Encoded a byte has up to three; what is longer than that by far need not be encoded to be refused.
  append_object_name(values_[part], value.substr(0, 4 * spec_.max_value + 4), spec_.names);
}

/// `json`: any value but an object or array.
void RecordRouter::take_scalar(std::size_t part, std::string_view json) {
  found_[part] = Found::nothing;
  if (json == "null") return;
  if (!json.starts_with('"')) return take(part, json);
  const std::string_view inside = json.substr(1, json.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return take(part, inside);
  std::string_view text;
  if (text_.open(json, 0) && text_.read(text)) take(part, text);
}

/// False when it is no JSON.
bool RecordRouter::walk(std::string_view document, std::size_t readable_padding) {
  if (!cursor_.open(document, readable_padding)) return false;
  decode::Json whole;
  if (!cursor_.at_object()) return cursor_.read(whole) && cursor_.close();
  return walk_object(0) && cursor_.close();
}

bool RecordRouter::walk_object(std::size_t level) {
  const Level& fields = levels_[level];
  const int count = static_cast<int>(fields.names.size());
  if (!cursor_.enter_object()) return false;
  for (int expected = 0;;) {
    const int field = cursor_.next_field(fields.names.data(), count, expected);
    if (field < 0) return field == JsonCursor::kEnd;
    expected = field + 1;
    const int part = fields.part[static_cast<std::size_t>(field)];
    const int below = fields.below[static_cast<std::size_t>(field)];
    // Of a name that comes twice the last counts.
    if (below >= 0) forget(static_cast<std::size_t>(below));
    if (below >= 0 && cursor_.at_object()) {
      if (part >= 0) found_[static_cast<std::size_t>(part)] = Found::structure;
      if (!walk_object(static_cast<std::size_t>(below))) return false;
      continue;
    }
    decode::Json value;
    if (!cursor_.read(value)) return false;
    if (part < 0) continue;
    if (value.view.starts_with('{') || value.view.starts_with('[')) {
      found_[static_cast<std::size_t>(part)] = Found::structure;
    } else {
      take_scalar(static_cast<std::size_t>(part), value.view);
    }
  }
}

/// Nothing of this level has been found.
void RecordRouter::forget(std::size_t level) {
  for (std::size_t i = 0; i < levels_[level].names.size(); ++i) {
    if (const int part = levels_[level].part[i]; part >= 0) found_[static_cast<std::size_t>(part)] = Found::nothing;
    if (const int below = levels_[level].below[i]; below >= 0) forget(static_cast<std::size_t>(below));
  }
}

}  // namespace millrace
