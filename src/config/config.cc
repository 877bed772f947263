// SPDX-License-Identifier: Apache-2.0
#include "millrace/config/config.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "config/node.h"
#include "config/source_text.h"
#include "config/yaml_adapter.h"
#include "millrace/base/check.h"

namespace millrace {
namespace {

using Node = ConfigSection::Element;
using Kind = ConfigSection::Kind;

/// More than any configuration has; a data file given by mistake is refused before it is parsed.
constexpr std::size_t kMaxFileBytes = 1U << 20U;

Result<std::string> read_file(const std::string& file) {
  const auto failed = [&](int code) {
    return fail(Error::config(
        fmt::format("{}: cannot be read: {}", file, std::error_code(code, std::generic_category()).message())));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> handle(std::fopen(file.c_str(), "rbe"), std::fclose);
  if (!handle) return failed(errno);
  std::string text(kMaxFileBytes + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), handle.get()));
  if (std::ferror(handle.get()) != 0) return failed(errno);
  if (text.size() > kMaxFileBytes) {
    return fail(Error::config(fmt::format("{}: larger than {} bytes; is this a pipeline file?", file, kMaxFileBytes)));
  }
  return text;
}

std::shared_ptr<Node> make_node(Kind kind, const std::shared_ptr<const std::string>& origin) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->file = origin;
  return node;
}

/// A `--set` value: as it stands, or YAML when it is quoted, a list or a mapping.
Result<std::shared_ptr<Node>> value_node(std::string_view value, const std::shared_ptr<const std::string>& origin) {
  const bool yaml = value.size() > 1 &&
                    ((value.front() == '[' && value.back() == ']') || (value.front() == '{' && value.back() == '}') ||
                     (value.front() == '"' && value.back() == '"') || (value.front() == '\'' && value.back() == '\''));
  if (!yaml) {
    auto node = make_node(Kind::scalar, origin);
    node->text = value;
    return node;
  }
  std::string escaped;
  for (const char c : value) escaped += c == '$' ? "$$" : std::string(1, c);
  ConfigProblems problems;
  const SourceText text(escaped, *origin, [](std::string_view) { return std::optional<std::string>(); }, problems);
  std::shared_ptr<Node> node = problems.empty() ? read_yaml(text, *origin, problems) : nullptr;
  MILLRACE_TRY(problems.result());
  if (!node) node = make_node(Kind::null, origin);
  return node;
}

}  // namespace

Config::Environment Config::process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<Config> Config::load(const std::string& file, const Environment& environment) {
  MILLRACE_ASSIGN(const std::string text, read_file(file));
  return parse(text, file, environment);
}

Result<Config> Config::parse(std::string_view yaml, std::string name, const Environment& environment) {
  ConfigProblems problems;
  const SourceText text(yaml, name, environment, problems);
  Config config;
  if (problems.empty()) config.root_ = read_yaml(text, name, problems);
  MILLRACE_TRY(problems.result());
  if (!config.root_ || config.root_->kind == Kind::null) {
    return fail(Error::config(fmt::format("{}: is empty; a pipeline has a 'source' and a 'sink'", name)));
  }
  if (config.root_->kind != Kind::mapping) {
    return fail(Error::config(fmt::format("{}: a pipeline file is a mapping of keys such as 'source' and 'sink'",
                                          to_string(name, config.root_->place))));
  }
  return config;
}

ConfigSection Config::root() const {
  ConfigSection section;
  section.node_ = root_;
  section.parent_ = root_;
  return section;
}

Result<void> Config::set(std::string_view path, std::string_view value, std::string_view origin) {
  const auto name = std::make_shared<const std::string>(origin);
  const auto refuse = [&](std::string_view why) {
    return fail(Error::config(fmt::format("{} {}: {}", origin, path, why)));
  };
  if (path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos) {
    return refuse("a path is keys with dots between them, as in source.s3.lanes");
  }
  MILLRACE_ASSIGN(std::shared_ptr<Node> node, value_node(value, name));
  if (!root_) root_ = make_node(Kind::mapping, name);
  Node* into = root_.get();
  std::string done;
  for (std::string_view rest = path;;) {
    const std::size_t dot = rest.find('.');
    const std::string key(rest.substr(0, dot));
    done += (done.empty() ? "" : ".") + key;
    const bool last = dot == std::string_view::npos;
    auto found = into->entries.begin();
    while (found != into->entries.end() && found->key != key) ++found;
    if (found == into->entries.end()) {
      into->entries.push_back({key, {}, last ? node : make_node(Kind::mapping, name)});
      found = into->entries.end() - 1;
    } else if (last) {
      found->value = node;
    } else if (found->value->kind == Kind::null) {
      found->value = make_node(Kind::mapping, name);
    }
    if (last) return {};
    into = found->value.get();
    if (into->kind != Kind::mapping) return refuse(fmt::format("'{}' is not a section", done));
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace millrace
