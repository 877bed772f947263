// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_adapter.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>

#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace {
namespace {

using Node = ConfigSection::Element;
using Kind = ConfigSection::Kind;

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& text, const std::string& file, ConfigProblems& problems)
      : text_(text), file_(std::make_shared<const std::string>(file)), problems_(problems) {}

  std::shared_ptr<Node> take_root() { return std::move(root_); }
  [[nodiscard]] int documents() const { return documents_; }
  /// Where the first event of the second document stands.
  [[nodiscard]] ConfigPlace second_document() const { return second_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) second_ = place(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_extras(mark, "", anchor);
    if (expects_key()) return add_key(mark, "", true);
    auto node = make(Kind::null, mark);
    // The parser marks an absent value where the next thing begins.
    if (!open_.empty() && open_.back().node->kind == Kind::mapping) node->place = open_.back().key_place;
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problem(mark, "aliases ('*name') are not supported; write the value out, or use a ${VARIABLE}");
    if (expects_key()) return add_key(mark, "", false);
    add(make(Kind::null, mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_extras(mark, tag, anchor);
    const bool quoted = tag == "!";
    if (quoted && !text_.quote_is_closed(line(mark), column(mark))) {
      problem(mark, "the quote that begins here is not closed");
    }
    // The parser turns \N and \_ into single bytes.
    if (first_invalid_utf8(value) != std::string::npos) {
      problem(mark, "an escape in this text makes no UTF-8; write the character itself, or \\u and four digits");
    }
    if (expects_key()) return add_key(mark, value, false);
    auto node = make(Kind::scalar, mark);
    node->quoted = quoted;
    node->text = value;
    if (text_.has_marker(value)) {
      SourceText::Filled filled = text_.fill(value, problems_);
      node->text = std::move(filled.text);
      node->expression = std::move(filled.expression);
    }
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<Node> node;
    bool expects_key = false;
    bool drop = false;  ///< what comes next is dropped: its key was refused
    std::string key;
    ConfigPlace key_place;
  };

  static std::size_t line(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.line, 0)); }
  static std::size_t column(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.column, 0)); }
  [[nodiscard]] ConfigPlace place(const YAML::Mark& mark) const { return text_.place(line(mark), column(mark)); }
  void problem(const YAML::Mark& mark, std::string text) {
    if (documents_ < 2) problems_.add(to_string(*file_, place(mark)), std::move(text));
  }
  void refuse_extras(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) problem(mark, "anchors ('&name') are not supported; write the value where it is used");
    if (!tag.empty() && tag != "?" && tag != "!") {
      problem(mark, "tags ('!name') are not supported; leave it out");
    }
  }
  std::shared_ptr<Node> make(Kind kind, const YAML::Mark& mark) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->file = file_;
    node->place = place(mark);
    return node;
  }
  [[nodiscard]] bool expects_key() const { return !open_.empty() && open_.back().expects_key; }

  void add_key(const YAML::Mark& mark, const std::string& key, bool null) {
    Open& map = open_.back();
    map.expects_key = false;
    map.drop = true;
    if (null) return problem(mark, "a key is missing in front of this ':'");
    if (key == "<<") return problem(mark, "merge keys ('<<') are not supported; write the keys out");
    if (text_.has_marker(key)) return problem(mark, "a variable can stand in a value only, not in a key");
    map.key = key;
    map.key_place = place(mark);
    for (const Node::Entry& entry : map.node->entries) {
      if (entry.key != key) continue;
      return problem(mark, fmt::format("{}: given twice; first on line {}", printable(dotted(key)), entry.place.line));
    }
    map.drop = false;
  }
  /// The path of a key of the innermost mapping.
  [[nodiscard]] std::string dotted(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i].node->kind == Kind::sequence) {
        path += fmt::format("[{}]", open_[i].node->items.size());
      } else {
        path += (path.empty() ? "" : ".") + open_[i].key;
      }
    }
    return path.empty() ? key : path + "." + key;
  }

  void add(std::shared_ptr<Node> node) {
    if (documents_ > 1) return;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& into = open_.back();
    if (into.node->kind == Kind::sequence) {
      into.node->items.push_back(std::move(node));
      return;
    }
    into.expects_key = true;
    if (into.drop) return;
    node->key_place = into.key_place;
    into.node->entries.push_back({into.key, into.key_place, std::move(node)});
  }

  void open(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_extras(mark, tag, anchor);
    if (expects_key()) {
      problem(mark, "a list or a section cannot be a key");
      skipping_.push_back(open_.size());
    }
    if (open_.size() == kMaxConfigDepth && !too_deep_) {
      too_deep_ = true;
      problem(mark, fmt::format("nested more than {} levels deep", kMaxConfigDepth));
    }
    // Below the limit the tree is not built, so that nothing later has to walk it.
    open_.push_back({make(kind, mark), kind == Kind::mapping, false, {}, {}});
  }
  void close() {
    auto node = std::move(open_.back().node);
    open_.pop_back();
    if (!skipping_.empty() && skipping_.back() == open_.size()) {
      skipping_.pop_back();
      open_.back().expects_key = false;
      open_.back().drop = true;
      return;
    }
    if (open_.size() < kMaxConfigDepth) return add(std::move(node));
    if (open_.back().node->kind == Kind::mapping) open_.back().expects_key = true;
  }

  const SourceText& text_;
  std::shared_ptr<const std::string> file_;
  ConfigProblems& problems_;
  std::shared_ptr<Node> root_;
  std::vector<Open> open_;
  std::vector<std::size_t> skipping_;  ///< depths at which a collection stands where a key should
  bool too_deep_ = false;
  int documents_ = 0;
  ConfigPlace second_;
};

/// The parser's words for what people get wrong most often, said so that one knows what to do.
std::string said_better(const std::string& parser_text) {
  if (parser_text == "illegal map value") return "a ':' cannot stand here; check the indentation, or quote the value";
  if (parser_text == "end of map not found" || parser_text == "end of map flow not found") {
    return "a '{' is not closed, or a line is indented less than those before it";
  }
  if (parser_text == "end of sequence not found" || parser_text == "end of sequence flow not found") {
    return "a '[' is not closed, or a line is indented less than those before it";
  }
  if (parser_text == "unknown token") return "this character cannot begin a value; quote the value";
  return parser_text;
}

}  // namespace

std::shared_ptr<Node> read_yaml(const SourceText& text, const std::string& file, ConfigProblems& problems) {
  ConfigProblems found;  // dropped when the syntax is broken: what the parser made of it then is a guess
  TreeBuilder builder(text, file, found);
  try {
    std::istringstream stream(text.marked());
    YAML::Parser parser(stream);
    while (builder.documents() < 2 && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::DeepRecursion&) {
    problems.add(file, fmt::format("nested more than {} levels deep", kMaxConfigDepth));
    return nullptr;
  } catch (const YAML::ParserException& error) {
    const auto line = static_cast<std::size_t>(std::max(error.mark.line, 0));
    const auto column = static_cast<std::size_t>(std::max(error.mark.column, 0));
    std::string message = said_better(error.msg);
    if (text.indented_by_tab(line)) message = "a tab cannot indent a line; use spaces";
    problems.add(to_string(file, text.place(line, column)), "cannot be read as YAML: " + message);
    return nullptr;
  } catch (const std::exception& error) {
    problems.add(file, fmt::format("cannot be read as YAML: {}", error.what()));
    return nullptr;
  }
  if (builder.documents() > 1) {
    found.add(to_string(file, builder.second_document()), "a second document begins here; one file is one pipeline");
  }
  problems.add(found);
  return builder.take_root();
}

}  // namespace millrace
