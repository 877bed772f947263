// SPDX-License-Identifier: Apache-2.0
// Config: a YAML file as a tree in which every node knows its file:line:col and its path. Variables are substituted
// first. Reading is strict: what no schema asked for is an error. Immutable and thread-safe after load.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Collects problems so that all are reported together.
class ConfigProblems {
 public:
  /// `where` is "file:line:col" or empty; `text` one sentence that names the path and the way out.
  void add(std::string where, std::string text);
  /// Adds each line of an error that another check has made, as it stands.
  void add(const Error& error);
  void add(const ConfigProblems& more);
  [[nodiscard]] bool empty() const noexcept { return problems_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return problems_.size(); }
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return problems_; }
  /// All problems as one config error, one a line; success when there are none.
  [[nodiscard]] Result<void> result() const;

 private:
  std::vector<std::string> problems_;
};

/// One node of the tree. A view that keeps the tree alive; cheap to copy. A missing node is a node that does not
/// exist().
class ConfigSection {
 public:
  ConfigSection() = default;
  enum class Kind { missing, null, scalar, sequence, mapping };
  struct Element;  ///< opaque
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool exists() const { return kind() != Kind::missing; }
  /// "source.s3.lanes"; empty at the root.
  [[nodiscard]] const std::string& path() const;
  /// "file:line:col" of the node, 1-based, columns counted in characters; of the parent when missing.
  [[nodiscard]] std::string where() const;
  /// The same of the key in front of the node; where() when there is none.
  [[nodiscard]] std::string key_where() const;
  /// A child by key; dots descend ("source.s3").
  [[nodiscard]] ConfigSection section(std::string_view path) const;
  /// A child by exactly this key, dots and all.
  [[nodiscard]] ConfigSection child(std::string_view key) const;
  /// Keys of a mapping in file order.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Items of a sequence.
  [[nodiscard]] std::vector<ConfigSection> items() const;
  /// Text of a scalar, unquoted. Empty for others.
  [[nodiscard]] std::string text() const;
  /// True for a quoted scalar, which is a string and nothing else.
  [[nodiscard]] bool quoted() const;

 private:
  friend class Config;
  std::shared_ptr<const Element> node_;
  std::shared_ptr<const Element> parent_;  ///< the nearest node that exists, for where() of a missing one
  std::string path_;
};

/// A file as Millrace reads it: one mapping. A variable's value is text of one scalar, whatever it holds, and never
/// structure. Anchors, aliases, merge keys, tags and several documents are refused.
class Config {
 public:
  /// How ${VAR} is looked up; std::getenv by default.
  using Environment = std::function<std::optional<std::string>(std::string_view name)>;
  [[nodiscard]] static Environment process_environment();

  /// Reads a file. Fails (config) with every problem of syntax, substitution and duplicate keys, each with
  /// file:line:col.
  [[nodiscard]] static Result<Config> load(const std::string& file,
                                           const Environment& environment = process_environment());
  /// The same from text; `name` stands where the file's name would.
  [[nodiscard]] static Result<Config> parse(std::string_view yaml, std::string name,
                                            const Environment& environment = process_environment());

  [[nodiscard]] ConfigSection root() const;
  [[nodiscard]] ConfigSection section(std::string_view path) const { return root().section(path); }
  /// Sets a value by path ("source.s3.lanes", "8"), making mappings on the way: `--set`. The value is taken as it
  /// stands, without variables; one in quotes, brackets or braces is read as YAML. `origin` names it in messages
  /// ("--set"). Before any section is handed out.
  [[nodiscard]] Result<void> set(std::string_view path, std::string_view value, std::string_view origin);
  /// The tree as YAML. A secret value is written as the ${VAR} it came from, or as "***"; `is_secret` is asked with
  /// each path.
  [[nodiscard]] std::string to_yaml(const std::function<bool(std::string_view path)>& is_secret) const;

 private:
  std::shared_ptr<ConfigSection::Element> root_;
};

/// The known name nearest to `given` by edit distance, when near enough to be meant.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view given, const std::vector<std::string>& known);

}  // namespace millrace
#pragma GCC visibility pop
