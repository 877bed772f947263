// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config/node.h"
#include "millrace/config/config.h"

namespace millrace {

std::string to_string(const std::string& file, ConfigPlace place) {
  return place.line == 0 ? file : fmt::format("{}:{}:{}", file, place.line, place.column);
}

ConfigSection::Kind ConfigSection::kind() const { return node_ ? node_->kind : Kind::missing; }

const std::string& ConfigSection::path() const { return path_; }

std::string ConfigSection::where() const {
  const Element* node = node_ ? node_.get() : parent_.get();
  return node != nullptr ? to_string(*node->file, node->place) : std::string();
}

std::string ConfigSection::key_where() const {
  return node_ && node_->key_place ? to_string(*node_->file, *node_->key_place) : where();
}

ConfigSection ConfigSection::child(std::string_view key) const {
  ConfigSection child;
  child.path_ = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  child.parent_ = node_ ? node_ : parent_;
  if (!node_) return child;
  for (const Element::Entry& entry : node_->entries) {
    if (entry.key == key) child.node_ = entry.value;
  }
  return child;
}

ConfigSection ConfigSection::section(std::string_view path) const {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return child(path);
  return child(path.substr(0, dot)).section(path.substr(dot + 1));
}

std::vector<std::string> ConfigSection::keys() const {
  std::vector<std::string> keys;
  if (!node_) return keys;
  for (const Element::Entry& entry : node_->entries) keys.push_back(entry.key);
  return keys;
}

std::vector<ConfigSection> ConfigSection::items() const {
  std::vector<ConfigSection> items;
  if (!node_) return items;
  for (std::size_t i = 0; i < node_->items.size(); ++i) {
    ConfigSection item;
    item.node_ = node_->items[i];
    item.parent_ = node_;
    item.path_ = fmt::format("{}[{}]", path_, i);
    items.push_back(std::move(item));
  }
  return items;
}

std::string ConfigSection::text() const { return node_ ? node_->text : std::string(); }

bool ConfigSection::quoted() const { return node_ && node_->quoted; }

}  // namespace millrace
