// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "millrace/base/printable.h"
#include "millrace/connectors/stream.h"

namespace millrace {
namespace {

using Kind = StreamStart::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 3> kWords{
    {{"earliest", Kind::earliest}, {"latest", Kind::latest}, {"stored", Kind::stored}}};

void expected(const ConfigSection& at, std::string_view found, ConfigProblems& problems) {
  problems.add(at.where(), fmt::format("{}: expects earliest, latest, stored, {{offset: 42}} or {{timestamp: "
                                       "2026-07-01T12:00:00Z}}, found {}",
                                       at.path(), found));
}

void read_word(const ConfigSection& at, StreamStart& out, ConfigProblems& problems) {
  const std::string text = at.text();
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const auto& [word, kind] : kWords) {
    if (lower != word) continue;
    out = {kind, {}, kNoTimestamp};
    return;
  }
  expected(at, fmt::format("'{}'", printable(text, 80)), problems);
}

void read_offset(const ConfigSection& at, StreamStart& out, ConfigProblems& problems) {
  const std::string text = at.text();
  std::int64_t offset = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (error != std::errc() || end != text.data() + text.size() || offset < 0) {
    problems.add(at.where(),
                 fmt::format("{}: expects an offset of 0 or more, found '{}'", at.path(), printable(text, 80)));
    return;
  }
  out = {Kind::offset, Offset(offset), kNoTimestamp};
}

void read_timestamp(const ConfigSection& at, StreamStart& out, ConfigProblems& problems) {
  const auto time = parse_rfc3339(at.text());
  if (!time) {
    problems.add(at.where(), at.path() + ": " + time.error().message());
    return;
  }
  out = {Kind::timestamp, {}, *time};
}

}  // namespace

std::string OptionForm<StreamStart>::text(const StreamStart& start) {
  if (start.kind == Kind::offset) return fmt::format("{{offset: {}}}", start.offset.value());
  if (start.kind == Kind::timestamp) return fmt::format("{{timestamp: {}}}", to_rfc3339(start.timestamp, 6));
  for (const auto& [word, kind] : kWords) {
    if (kind == start.kind) return std::string(word);
  }
  return {};
}

void OptionForm<StreamStart>::read(const ConfigSection& at, StreamStart& out, ConfigProblems& problems) {
  if (at.kind() == ConfigSection::Kind::scalar) {
    read_word(at, out, problems);
    return;
  }
  if (at.kind() != ConfigSection::Kind::mapping) {
    expected(at, at.kind() == ConfigSection::Kind::sequence ? "a list" : "nothing (null)", problems);
    return;
  }
  const auto keys = at.keys();
  const bool known = keys.size() == 1 && (keys[0] == "offset" || keys[0] == "timestamp");
  if (!known) {
    expected(at, "a section with other keys", problems);
    return;
  }
  const ConfigSection value = at.child(keys[0]);
  if (keys[0] == "offset") {
    read_offset(value, out, problems);
  } else {
    read_timestamp(value, out, problems);
  }
}

}  // namespace millrace
