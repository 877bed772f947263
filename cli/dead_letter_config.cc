// SPDX-License-Identifier: Apache-2.0
#include "cli/dead_letter_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace millrace::cli {
namespace {

/// What a sink leaves out of its wrapper, or puts in. A letter always says all that is known of its record.
constexpr std::array<std::string_view, 5> kWrapperKeys{"wrap", "include_metadata", "include_headers", "mark_encoding",
                                                       "timestamp_precision"};

/// What sinks call what becomes of what they cannot write.
constexpr std::array<std::string_view, 2> kFailureKeys{"on_upload_failure", "on_write_failure"};

/// As OptionReader reads a choice: without regard to case.
bool says_drop(const ConfigSection& choice) {
  const auto equal = [](char given, char lower) {
    return given == lower || (given >= 'A' && given <= 'Z' && given - 'A' + 'a' == lower);
  };
  return std::ranges::equal(choice.text(), std::string_view("drop"), equal);
}

bool drops(const ConfigSection& sink) {
  return std::ranges::any_of(kFailureKeys,
                             [&](std::string_view key) { return says_drop(sink.child(std::string(key))); });
}

/// The section of decode in which a record can be skipped; empty where payloads pass unread.
std::string_view reader_of(const DecodeOptions& decode) {
  switch (decode.kind) {
    case DecodeOptions::Kind::json:
      return "json";
    case DecodeOptions::Kind::csv:
      return "csv";
    case DecodeOptions::Kind::text:
      return "text";
    case DecodeOptions::Kind::none:
    case DecodeOptions::Kind::raw:
      break;
  }
  return {};
}

std::string way_to_use_it(const DecodeOptions& decode) {
  const std::string_view reader = reader_of(decode);
  if (reader.empty()) return "payloads pass unread, so a bad record cannot be skipped; read them with decode";
  return fmt::format("a bad record ends the run; set decode.{}.on_error: skip", reader);
}

}  // namespace

void check_dead_letter(const ConfigSection& at, const PipelineConfig& config, ConfigProblems& problems) {
  const ConfigSection& sink = config.dead_letter_section;
  for (const std::string_view key : kWrapperKeys) {
    const ConfigSection given = sink.child(std::string(key));
    if (!given.exists()) continue;
    problems.add(given.key_where(),
                 fmt::format("{}: has no effect on dead letters, each of which says all that is known of its record; "
                             "remove it",
                             given.path()));
  }
  for (const std::string_view key : kFailureKeys) {
    const ConfigSection given = sink.child(std::string(key));
    if (!says_drop(given)) continue;
    problems.add(
        given.where(),
        fmt::format("{}: a dead letter that is dropped would be kept nowhere; use stall or fail", given.path()));
  }
  if (config.decode.on_error != OnError::skip && !drops(config.sink_section)) {
    problems.add(at.key_where(),
                 fmt::format("dead_letter: has no effect: {}, or remove the section", way_to_use_it(config.decode)));
  }
}

}  // namespace millrace::cli
