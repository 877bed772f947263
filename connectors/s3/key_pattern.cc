// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/config/config.h"

namespace millrace::s3_sink {
namespace {

using Variable = KeyPattern::Variable;
using From = RouteSpec::Part::From;

struct Known {
  std::string_view name;
  Variable variable;
};

constexpr Known kKnown[] = {
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
    {"uuid", Variable::uuid},
    {"object", Variable::object},
    {"object.dir", Variable::object_dir},
    {"object.name", Variable::object_name},
    {"object.stem", Variable::object_stem},
    {"key", Variable::routed},
    {"header.NAME", Variable::routed},
    {"field.NAME", Variable::routed},
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

/// The problems of what stands in the template as it is.
void check_literals(std::string_view text, std::vector<std::string>& problems) {
  if (text.empty()) {
    problems.emplace_back("is empty; it needs {topic}, {object} or {uuid} at least");
    return;
  }
  if (std::ranges::any_of(text, is_control)) problems.emplace_back("holds a control character");
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view segment = text.substr(begin, end - begin);
    if (segment.empty() || is_dots(segment)) {
      problems.push_back(fmt::format("at character {}: {}", begin + 1,
                                     segment.empty() ? "an empty segment; write no slash at the ends and none twice"
                                                     : fmt::format("the segment '{}' leads to other names", segment)));
    }
    begin = end + 1;
  }
}

/// {key}, {header.NAME} or {field.NAME}; nothing when it is none of them.
std::optional<RouteSpec::Part> routed(std::string_view name) {
  if (name == "key") return RouteSpec::Part{From::key, ""};
  for (const auto& [prefix, from] : {std::pair(std::string_view("header."), From::header), {"field.", From::field}}) {
    if (name.starts_with(prefix)) return RouteSpec::Part{from, std::string(name.substr(prefix.size()))};
  }
  return std::nullopt;
}

/// Why there is no such header or field; empty when there may be.
std::string_view problem_of(const RouteSpec::Part& part) {
  if (part.from == From::key) return {};
  if (part.name.empty()) return "names nothing; write {header.NAME} or {field.NAME}";
  if (part.from == From::header) return {};
  if (part.name.starts_with('.') || part.name.ends_with('.') || part.name.find("..") != std::string::npos) {
    return "has an empty name in it; a dot stands between the names of a field and of one inside of it";
  }
  return part.name.find_first_of("\"\\") != std::string::npos ? "holds a quote or a backslash" : "";
}

/// The variable that was meant, as far as can be guessed.
std::optional<std::string> nearest(const std::string& name) {
  if (name == "header" || name == "field") return name + ".NAME";
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    const auto front = nearest_name(name.substr(0, dot), {"header", "field"});
    if (front && dot + 1 < name.size()) return *front + name.substr(dot);
  }
  return nearest_name(name, KeyPattern::known_names());
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<KeyPattern> parse() {
    check_literals(text_, problems_);
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t brace = std::min(text_.find_first_of("{}", at), text_.size());
      if (brace > at) made_.pieces.push_back({Variable::literal, std::string(text_.substr(at, brace - at)), at + 1});
      if (brace == text_.size()) break;
      const std::size_t end = text_.find_first_of("{}", brace + 1);
      if (text_[brace] == '}' || end == std::string_view::npos || text_[end] == '{') {
        add_problem(brace,
                    fmt::format("a '{}' without its counterpart; a variable is written {{name}}, and a key cannot "
                                "hold braces",
                                text_[brace]));
        at = brace + 1;
        continue;
      }
      take(std::string(text_.substr(brace + 1, end - brace - 1)), brace);
      at = end + 1;
    }
    if (problems_.empty()) check_whole();
    if (!problems_.empty()) return fail(Error::config(fmt::format("{}", fmt::join(problems_, "\n"))));
    return std::move(made_);
  }

 private:
  void add_problem(std::size_t at, std::string_view what) {
    problems_.push_back(fmt::format("at character {}: {}", at + 1, what));
  }

  void take(const std::string& name, std::size_t at) {
    KeyPattern::Piece piece{Variable::routed, "{" + name + "}", at + 1};
    if (const auto part = routed(name)) {
      if (const std::string_view why = problem_of(*part); !why.empty()) {
        return add_problem(at, fmt::format("{{{}}} {}", printable(name, 100), why));
      }
      const auto known = std::ranges::find(made_.route, *part);
      piece.value = static_cast<std::size_t>(known - made_.route.begin());
      if (known == made_.route.end()) made_.route.push_back(*part);
      made_.pieces.push_back(std::move(piece));
      return;
    }
    const auto* const found = std::ranges::find(kKnown, name, &Known::name);
    if (found == std::end(kKnown)) {
      const auto near = nearest(name);
      return add_problem(at, fmt::format("unknown placeholder {{{}}}; {}known are {{{}}}", printable(name, 100),
                                         near ? fmt::format("did you mean {{{}}}? ", printable(*near, 100)) : "",
                                         fmt::join(KeyPattern::known_names(), "} {")));
    }
    piece.variable = found->variable;
    made_.pieces.push_back(std::move(piece));
  }

  void check_whole() {
    if (!made_.has(Variable::topic) && !made_.has(Variable::object) && !made_.has(Variable::uuid)) {
      problems_.emplace_back("two sources could write one key under it: add {topic}, {object} or {uuid}");
    }
    for (const auto& run : made_.run_together()) {
      const auto is_routed = [](const KeyPattern::Piece* piece) { return piece->variable == Variable::routed; };
      const auto first = std::ranges::find_if(run, is_routed);
      if (first == run.end()) continue;
      const KeyPattern::Piece* other = *first == run.front() ? run[1] : *(first - 1);
      add_problem((*first)->at - 1,
                  fmt::format("{} and {} stand in one segment with nothing between them that no value holds, so that "
                              "different values could make one name; put '/' between them, or '='",
                              printable((*first)->text, 100), printable(other->text, 100)));
    }
  }

  std::string_view text_;
  KeyPattern made_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> KeyPattern::known_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

Result<KeyPattern> KeyPattern::parse(std::string_view text) { return Parser(text).parse(); }

bool KeyPattern::has(Variable variable) const noexcept {
  return std::ranges::find(pieces, variable, &Piece::variable) != pieces.end();
}

bool KeyPattern::tells_time() const noexcept {
  return std::ranges::any_of(pieces, [](const Piece& piece) {
    return piece.variable >= Variable::date && piece.variable <= Variable::timestamp;
  });
}

bool KeyPattern::per_object() const noexcept {
  return has(Variable::object) || has(Variable::object_dir) || has(Variable::object_name) || has(Variable::object_stem);
}

std::vector<std::vector<const KeyPattern::Piece*>> KeyPattern::run_together() const {
  std::vector<std::vector<const Piece*>> runs;
  std::vector<const Piece*> run;
  const auto end_run = [&] {
    if (run.size() > 1) runs.push_back(run);
    run.clear();
  };
  // What a value may hold once it is encoded; any other character keeps two apart.
  const auto may_be_of_a_value = [](char c) { return is_plain(c) || c == '%'; };
  for (const Piece& piece : pieces) {
    switch (piece.variable) {
      case Variable::literal:
        if (!std::ranges::all_of(piece.text, may_be_of_a_value)) end_run();
        break;
      case Variable::stream:
      case Variable::topic:
      case Variable::timestamp:
      case Variable::object:
      case Variable::object_dir:
      case Variable::object_name:
      case Variable::object_stem:
      case Variable::routed:
        // Twice the same variable are one unknown.
        if (std::ranges::find(run, piece.text, &Piece::text) == run.end()) run.push_back(&piece);
        break;
      default:
        break;
    }
  }
  end_run();
  return runs;
}

}  // namespace millrace::s3_sink
