// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/jq_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace millrace::transforms {
namespace {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Follows the lexer of jq, which knows text and program apart by the brackets that are open.
class Words {
 public:
  explicit Words(std::string_view program) : program_(program) {}

  std::vector<JqWord> all() {
    while (at_ < program_.size()) step();
    return std::move(words_);
  }
  /// What one argument behind `at` says, in parentheses; none where it is no text without backslashes.
  std::optional<std::string_view> plain_argument(std::size_t at) {
    at_ = at;
    if (next() != '(') return std::nullopt;
    ++at_;
    if (next() != '"') return std::nullopt;
    const std::size_t begin = ++at_;
    const std::size_t end = program_.find_first_of("\"\\", begin);
    if (end == std::string_view::npos || program_[end] == '\\') return std::nullopt;
    at_ = end + 1;
    if (next() != ')') return std::nullopt;
    return program_.substr(begin, end - begin);
  }

 private:
  /// The next character that says something; null at the end.
  char next() {
    while (at_ < program_.size()) {
      const char c = program_[at_];
      if (c == '#') {
        skip_comment();
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        return c;
      }
    }
    return '\0';
  }
  void skip_comment() {
    const std::size_t begin = at_;
    at_ = std::min(program_.find_first_of("\r\n", at_), program_.size());
    const std::string_view comment = program_.substr(begin, at_ - begin);
    if (comment.back() == '\\' && at_ != program_.size()) words_.push_back({JqWord::Kind::comment, comment, at_});
  }
  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < program_.size()) {
      const bool scope =
          program_.substr(at_).starts_with("::") && at_ + 2 < program_.size() && is_letter(program_[at_ + 2]);
      if (!scope && !is_letter(program_[at_]) && !is_digit(program_[at_])) break;
      at_ += scope ? 2 : 1;
    }
    return program_.substr(begin, at_ - begin);
  }
  /// To behind its quote, or to what is put into it.
  void skip_text() {
    while (at_ < program_.size()) {
      const char c = program_[at_++];
      if (c == '"') return;
      if (c != '\\' || at_ == program_.size()) continue;
      if (program_[at_++] == '(') return open_.push_back(kInText);
    }
  }
  void step() {
    const char c = next();
    if (c == '\0') {
      at_ = program_.size();
      return;
    }
    const char before = std::exchange(before_, c);
    if (c == '"') {
      ++at_;
      skip_text();
    } else if (c == '.' && at_ + 1 < program_.size() && is_letter(program_[at_ + 1])) {
      ++at_;
      take_name();
    } else if (c == '$') {
      ++at_;
      next();
      const std::string_view name = take_name();
      words_.push_back({JqWord::Kind::variable, name, at_});
    } else if (c == '@') {
      ++at_;
      take_name();
    } else if (is_letter(c)) {
      name(before);
    } else {
      ++at_;
      bracket(c);
    }
  }
  void name(char before) {
    const std::string_view text = take_name();
    const std::size_t end = at_;
    if (!open_.empty() && open_.back() == '{' && (before == '{' || before == ',')) {
      // A key: {name: ...}, or the field of that name: {name}.
      const char behind = next();
      if (behind == ':' || behind == ',' || behind == '}') return;
    }
    if (text == "if") open_.push_back(kIf);
    if (text == "end" && !open_.empty() && open_.back() == kIf) open_.pop_back();
    words_.push_back({JqWord::Kind::name, text, end});
  }
  void bracket(char c) {
    if (c == '(' || c == '[' || c == '{') open_.push_back(c);
    if ((c != ')' && c != ']' && c != '}') || open_.empty()) return;
    const char opened = open_.back();
    open_.pop_back();
    if (opened == kInText && c == ')') skip_text();
  }

  static constexpr char kInText = '"';
  static constexpr char kIf = 'i';  ///< commas up to its `end` part no keys
  std::string_view program_;
  std::size_t at_ = 0;
  char before_ = '\0';
  std::vector<char> open_;
  std::vector<JqWord> words_;
};

struct Refused {
  std::string_view word;
  std::string_view why;
};
constexpr std::string_view kNoOthers = "asks for other input, and each record is a document of its own; take it out";
constexpr std::string_view kNoPlace =
    "asks where the input came from, which jq is not told here; take it out, or add a field before it";
constexpr std::string_view kNoOutput = "writes beside the records; take it out, and try the program with jq itself";
constexpr std::string_view kNoEnvironment =
    "reads the environment, where secrets may be; put ${NAME} where the value is wanted: add_fields with "
    "value {static: \"${NAME}\"}, or --set";
constexpr std::string_view kNoFiles =
    "reads other files, and a pipeline file says all that it does; write the definitions (def name: ...;) into the "
    "program";
constexpr std::array<Refused, 15> kNames{{{"input", kNoOthers},
                                          {"inputs", kNoOthers},
                                          {"_input", kNoOthers},
                                          {"input_filename", kNoPlace},
                                          {"input_line_number", kNoPlace},
                                          {"debug", kNoOutput},
                                          {"stderr", kNoOutput},
                                          {"env", kNoEnvironment},
                                          {"get_search_list", kNoFiles},
                                          {"get_jq_origin", kNoFiles},
                                          {"get_prog_origin", kNoFiles},
                                          {"modulemeta", kNoFiles},
                                          {"import", kNoFiles},
                                          {"include", kNoFiles},
                                          {"module", kNoFiles}}};

std::string_view why_refused(const JqWord& word) {
  switch (word.kind) {
    case JqWord::Kind::comment:
      return "ends with a backslash, behind which some versions of jq go on with the comment; take it out";
    case JqWord::Kind::variable:
      return word.text == "ENV" ? kNoEnvironment : std::string_view();
    case JqWord::Kind::name:
      break;
  }
  const auto found = std::ranges::find(kNames, word.text, &Refused::word);
  return found == kNames.end() ? std::string_view() : found->why;
}

/// Whether a format of times asks for the time zone: %s and %Z do, whatever stands between.
bool asks_for_zone(std::string_view format) {
  for (std::size_t at = format.find('%'); at < format.size(); at = format.find('%', at + 1)) {
    at = format.find_first_not_of("_-^#+0123456789EO:", at + 1);
    if (at >= format.size()) return false;
    if (format[at] == 's' || format[at] == 'Z') return true;
  }
  return false;
}

}  // namespace

std::vector<JqWord> words_of_jq(std::string_view program) { return Words(program).all(); }

Result<void> check_jq_words(std::string_view program) {
  for (const JqWord& word : words_of_jq(program)) {
    const std::string_view why = why_refused(word);
    if (why.empty()) continue;
    if (word.kind == JqWord::Kind::comment) return fail(Error::config(fmt::format("jq: a comment {}", why)));
    return fail(Error::config(fmt::format("jq: '{}{}' {} (a function of the program's own needs another name)",
                                          word.kind == JqWord::Kind::variable ? "$" : "", word.text, why)));
  }
  return {};
}

std::string_view jq_varies_with(std::string_view program) {
  static constexpr std::array<std::string_view, 6> kVary{"now",    "localtime", "strflocaltime",
                                                         "mktime", "fromdate",  "fromdateiso8601"};
  for (const JqWord& word : words_of_jq(program)) {
    if (word.kind != JqWord::Kind::name) continue;
    if (std::ranges::find(kVary, word.text) != kVary.end()) return word.text;
    if (word.text != "strftime" && word.text != "strptime") continue;
    const auto format = Words(program).plain_argument(word.end);
    if (!format || asks_for_zone(*format)) return word.text;
  }
  return {};
}

}  // namespace millrace::transforms
