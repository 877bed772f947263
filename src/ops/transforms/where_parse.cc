// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "decode/json_escapes.h"
#include "decode/json_numbers.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"
#include "millrace/decode/json_checker.h"
#include "ops/transforms/where.h"

namespace millrace::transforms {
namespace {

using Kind = WhereNode::Kind;
using Order = WhereNode::Order;

// Deep enough for anything that is meant, and bounded, as the parser calls itself.
constexpr int kMaxDepth = 64;
// As what is parsed is evaluated by a function that calls itself.
constexpr std::size_t kMaxNodes = 2000;

bool is_name_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '$' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<WhereExpression> parse() {
    if (first_invalid_utf8(text_) != std::string_view::npos) return fail(Error::config("where: is not UTF-8"));
    const int root = either(0);
    if (root >= 0 && !at_end()) refuse("expected 'and', 'or' or the end");
    if (problem_) return fail(Error::config(*std::move(problem_)));
    out_.root = root;
    return std::move(out_);
  }

 private:
  int refuse(std::string_view what) {
    if (!problem_) {
      problem_ = fmt::format("where: at character {} of '{}': {}", count_characters(text_.substr(0, at_)) + 1,
                             printable(text_, 200), what);
    }
    return -1;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool at_end() {
    blanks();
    return at_ == text_.size();
  }
  bool take(std::string_view mark) {
    blanks();
    if (!text_.substr(at_).starts_with(mark)) return false;
    at_ += mark.size();
    return true;
  }
  /// Without blanks in front.
  bool take_dot() {
    const bool dot = at_ < text_.size() && text_[at_] == '.';
    at_ += static_cast<std::size_t>(dot);
    return dot;
  }
  /// The next word, if it is this one; `exists` only before its parenthesis.
  bool take_word(std::string_view word) {
    blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size()) {
      const char next = rest[word.size()];
      if (is_name_byte(next) || next == '.' || next == '\\') return false;
    }
    at_ += word.size();
    return true;
  }
  int add(WhereNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<int>(out_.nodes.size()) - 1;
  }
  int join(Kind kind, int left, int right) {
    WhereNode node;
    node.kind = kind;
    node.left = left;
    node.right = right;
    return add(std::move(node));
  }

  int either(int depth) {
    int left = both(depth);
    while (left >= 0 && take_word("or")) {
      const int right = both(depth);
      left = right < 0 ? right : join(Kind::either, left, right);
    }
    return left;
  }
  int both(int depth) {
    int left = one(depth);
    while (left >= 0 && take_word("and")) {
      const int right = one(depth);
      left = right < 0 ? right : join(Kind::both, left, right);
    }
    return left;
  }
  int one(int depth) {
    if (depth == kMaxDepth) return refuse("parentheses and 'not' lie more than 64 deep");
    if (out_.nodes.size() > kMaxNodes) return refuse("more than 1,000 comparisons are no expression");
    if (take_word("not")) {
      const int inner = one(depth + 1);
      return inner < 0 ? inner : join(Kind::negation, inner, inner);
    }
    if (take("(")) {
      const int inner = either(depth + 1);
      if (inner < 0) return inner;
      return take(")") ? inner : refuse("expected ')'");
    }
    const std::size_t before = at_;
    if (take_word("exists") && take("(")) {
      WhereNode node;
      node.path = path();
      if (node.path < 0) return -1;
      if (!take(")")) return refuse("expected ')' behind the path");
      return add(std::move(node));
    }
    at_ = before;
    return comparison();
  }

  int comparison() {
    WhereNode node;
    node.kind = Kind::compare;
    node.path = path();
    if (node.path < 0) return -1;
    if (take("==")) {
      node.order = Order::equal;
    } else if (take("!=")) {
      node.order = Order::not_equal;
    } else if (take("<=")) {
      node.order = Order::less_or_equal;
    } else if (take("<")) {
      node.order = Order::less;
    } else if (take(">=")) {
      node.order = Order::greater_or_equal;
    } else if (take(">")) {
      node.order = Order::greater;
    } else {
      return refuse("expected ==, !=, <, <=, > or >= behind the path");
    }
    const std::size_t literal_at = at_;
    if (!literal(node)) return -1;
    const bool orders = node.order != Order::equal && node.order != Order::not_equal;
    if (orders && node.literal != '0' && node.literal != '"') {
      at_ = literal_at;
      return refuse("only numbers and strings are less or greater");
    }
    return add(std::move(node));
  }

  bool literal(WhereNode& node) {
    if (at_end()) return refuse("expected a number, a string, true, false or null") >= 0;
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!take_word(word)) continue;
      node.literal = word.front();
      return true;
    }
    if (text_[at_] == '"') {
      auto text = json_string();
      if (!text) return false;
      node.literal = '"';
      node.text = *std::move(text);
      return true;
    }
    std::size_t end = at_;
    while (end < text_.size() && (is_name_byte(text_[end]) || text_[end] == '.' || text_[end] == '+')) ++end;
    node.text = text_.substr(at_, end - at_);
    if (!is_json_number_plainly(node.text.data(), node.text.data() + node.text.size())) {
      return refuse("expected a number, a string in double quotes, true, false or null; paths stand on the left") >= 0;
    }
    node.literal = '0';
    at_ = end;
    return true;
  }

  /// Where a double quote stands.
  std::optional<std::string> json_string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    JsonChecker checker;
    decode::Json json;
    if (end >= text_.size() || !checker.check(text_.substr(at_, end + 1 - at_), 0, json)) {
      refuse("a string begins here that JSON does not know");
      return std::nullopt;
    }
    const std::string_view raw = text_.substr(at_ + 1, end - at_ - 1);
    std::string text(raw.size(), '\0');
    const char* const stop = unescape(raw, text.data(), LoneSurrogates::refuse);
    if (stop == nullptr) {
      refuse("half of a surrogate pair stands in this string");
      return std::nullopt;
    }
    text.resize(static_cast<std::size_t>(stop - text.data()));
    at_ = end + 1;
    return text;
  }

  /// Index of the path; below 0: refused.
  int path() {
    FieldPath path;
    do {
      if (at_end()) return refuse("expected a path");
      if (text_[at_] == '"') {
        auto name = json_string();
        if (!name) return -1;
        path.names.push_back(*std::move(name));
        continue;
      }
      std::string name;
      while (at_ < text_.size() && (is_name_byte(text_[at_]) || text_[at_] == '\\')) {
        if (text_[at_] == '\\') {
          ++at_;
          if (at_ == text_.size() || static_cast<unsigned char>(text_[at_]) >= 0x80) {
            return refuse("a backslash stands before an ASCII character");
          }
        }
        name += text_[at_++];
      }
      if (name.empty()) return refuse("expected a path");
      path.names.push_back(std::move(name));
    } while (take_dot());
    const auto index = std::ranges::find(out_.paths, path) - out_.paths.begin();
    if (static_cast<std::size_t>(index) == out_.paths.size()) out_.paths.push_back(std::move(path));
    return static_cast<int>(index);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  WhereExpression out_;
  std::optional<std::string> problem_;
};

}  // namespace

Result<WhereExpression> parse_where(std::string_view text) { return Parser(text).parse(); }

}  // namespace millrace::transforms
