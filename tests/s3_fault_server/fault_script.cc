// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/fault_script.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace millrace::testing {

namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

// name=value with blanks between; a value in single quotes may hold blanks; \n and \xHH in it are bytes.
Result<Words> split_words(std::string_view line) {
  Words words;
  std::size_t at = 0;
  const auto bad = [&](std::string_view what) {
    return fail(Error::config(fmt::format("fault line: {} at column {}: {}", what, at + 1, line)));
  };
  while (true) {
    while (at < line.size() && line[at] == ' ') ++at;
    if (at == line.size()) return words;
    const auto equals = line.find_first_of("= ", at);
    const std::string name(line.substr(at, equals - at));
    if (equals == std::string_view::npos || line[equals] == ' ') {
      words.emplace_back(name, "true");
      at = std::min(equals, line.size());
      continue;
    }
    at = equals + 1;
    const bool quoted = at < line.size() && line[at] == '\'';
    if (quoted) ++at;
    std::string value;
    while (at < line.size() && line[at] != (quoted ? '\'' : ' ')) {
      if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == 'n') {
        value += '\n';
        at += 2;
      } else if (line[at] == '\\' && at + 3 < line.size() && line[at + 1] == 'x') {
        unsigned byte = 0;
        const char* digits = line.data() + at + 2;
        if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return bad("no two hex digits");
        value += static_cast<char>(byte);
        at += 4;
      } else {
        value += line[at++];
      }
    }
    if (quoted && at++ == line.size()) return bad("no closing quote");
    words.emplace_back(name, std::move(value));
  }
}

template <class Number>
bool set_number(Number& out, const std::string& text) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool set_count(std::optional<std::uint64_t>& out, const std::string& text) {
  std::uint64_t count = 0;
  if (!set_number(count, text)) return false;
  out = count;
  return true;
}

bool set_milliseconds(Duration& out, const std::string& text) {
  std::int64_t count = 0;
  if (!set_number(count, text)) return false;
  out = std::chrono::milliseconds(count);
  return true;
}

bool set_header(ServerFault& fault, const std::string& text) {
  const auto colon = text.find(": ");
  if (colon == std::string::npos) return false;
  fault.headers.emplace_back(text.substr(0, colon), text.substr(colon + 2));
  return true;
}

bool set_framing(Delivery& how, const std::string& text) {
  if (text == "chunked") how.framing = BodyFraming::chunked;
  if (text == "until_close") how.framing = BodyFraming::until_close;
  return text == "chunked" || text == "until_close" || text == "content_length";
}

using Setter = std::function<bool(ServerFault&, const std::string&)>;

Setter text_of(std::string ServerFault::* field) {
  return [field](ServerFault& fault, const std::string& text) {
    fault.*field = text;
    return true;
  };
}
Setter optional_text_of(std::optional<std::string> ServerFault::* field) {
  return [field](ServerFault& fault, const std::string& text) {
    fault.*field = text;
    return true;
  };
}
Setter flag_of(bool ServerFault::* field) {
  return [field](ServerFault& fault, const std::string& text) {
    fault.*field = text == "true";
    return text == "true" || text == "false";
  };
}
Setter flag_of(bool Delivery::* field) {
  return [field](ServerFault& fault, const std::string& text) {
    fault.delivery.*field = text == "true";
    return text == "true" || text == "false";
  };
}
Setter count_of(std::optional<std::uint64_t> ServerFault::* field) {
  return [field](ServerFault& fault, const std::string& text) { return set_count(fault.*field, text); };
}
Setter count_of(std::optional<std::uint64_t> Delivery::* field) {
  return [field](ServerFault& fault, const std::string& text) { return set_count(fault.delivery.*field, text); };
}
Setter milliseconds_of(Duration Delivery::* field) {
  return [field](ServerFault& fault, const std::string& text) { return set_milliseconds(fault.delivery.*field, text); };
}

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> kSetters = {
      {"op", text_of(&ServerFault::operation)},
      {"key", text_of(&ServerFault::key)},
      {"skip", [](ServerFault& f, const std::string& t) { return set_number(f.skip, t); }},
      {"times",
       [](ServerFault& f, const std::string& t) {
         f.times = kEveryTime;
         return t == "every" || set_number(f.times, t);
       }},
      {"status", [](ServerFault& f, const std::string& t) { return set_number(f.status, t); }},
      {"code", text_of(&ServerFault::code)},
      {"body", optional_text_of(&ServerFault::body)},
      {"status_line", text_of(&ServerFault::status_line)},
      {"content_type", text_of(&ServerFault::content_type)},
      {"header", set_header},
      {"ignore_range", flag_of(&ServerFault::ignore_range)},
      {"ignore_conditions", flag_of(&ServerFault::ignore_conditions)},
      {"ignore_if_match", flag_of(&ServerFault::ignore_if_match)},
      {"no_etag", flag_of(&ServerFault::no_etag)},
      {"error_after_success", flag_of(&ServerFault::error_after_success)},
      {"shift_range", [](ServerFault& f, const std::string& t) { return set_number(f.shift_range, t); }},
      {"total_size", count_of(&ServerFault::total_size)},
      {"short_range", count_of(&ServerFault::short_range)},
      {"replace_object", optional_text_of(&ServerFault::replace_object)},
      {"delete_object", flag_of(&ServerFault::delete_object)},
      {"delay_ms", milliseconds_of(&Delivery::delay)},
      {"close_after", count_of(&Delivery::close_after)},
      {"reset_after", count_of(&Delivery::reset_after)},
      {"stall_after", count_of(&Delivery::stall_after)},
      {"pause_after", count_of(&Delivery::pause_after)},
      {"pause_ms", milliseconds_of(&Delivery::pause)},
      {"drip_ms", milliseconds_of(&Delivery::drip)},
      {"framing", [](ServerFault& f, const std::string& t) { return set_framing(f.delivery, t); }},
      {"omit_last_chunk", flag_of(&Delivery::omit_last_chunk)},
      {"close_connection", flag_of(&Delivery::close_connection)},
      {"no_answer", flag_of(&Delivery::no_answer)},
  };
  return kSetters;
}

}  // namespace

Result<ServerFault> ServerFault::parse(std::string_view line) {
  MILLRACE_ASSIGN(const Words words, split_words(line));
  ServerFault fault;
  for (const auto& [name, value] : words) {
    const auto setter = setters().find(name);
    if (setter == setters().end()) {
      return fail(Error::config(fmt::format("fault line: no word '{}' is known: {}", name, line)));
    }
    if (!setter->second(fault, value)) {
      return fail(Error::config(fmt::format("fault line: '{}' does not fit '{}': {}", value, name, line)));
    }
  }
  return fault;
}

void FaultScript::add(ServerFault fault) {
  const MutexLock lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FaultScript::clear() {
  const MutexLock lock(mutex_);
  faults_.clear();
}

std::optional<ServerFault> FaultScript::take(std::string_view operation, std::string_view key) {
  const MutexLock lock(mutex_);
  for (ServerFault& fault : faults_) {
    if (!fault.operation.empty() && fault.operation != operation) continue;
    if (!fault.key.empty() && fault.key != key) continue;
    if (fault.times == 0) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.times != kEveryTime) --fault.times;
    return fault;
  }
  return std::nullopt;
}

bool FaultScript::all_happened() const {
  const MutexLock lock(mutex_);
  for (const ServerFault& fault : faults_) {
    if (fault.times != 0 && fault.times != kEveryTime) return false;
  }
  return true;
}

}  // namespace millrace::testing
