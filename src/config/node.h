// SPDX-License-Identifier: Apache-2.0
// Node: one value of a configuration file with the place it came from. Built by the YAML adapter and Config::set,
// immutable afterwards; shared by the sections that look at it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/config/config.h"

namespace millrace {

/// A place in a file, 1-based; line 0: the file as a whole.
struct ConfigPlace {
  std::size_t line = 0;
  std::size_t column = 0;
};

struct ConfigSection::Element {
  struct Entry {
    std::string key;
    ConfigPlace place;
    std::shared_ptr<Element> value;
  };

  Kind kind = Kind::null;
  std::shared_ptr<const std::string> file;  ///< the file's name, or "--set"
  ConfigPlace place;
  std::optional<ConfigPlace> key_place;
  std::string text;
  std::string expression;  ///< a scalar of variables only: "${NAME}", without defaults; else empty
  bool quoted = false;
  std::vector<Entry> entries;                   ///< of a mapping, in file order
  std::vector<std::shared_ptr<Element>> items;  ///< of a sequence

  [[nodiscard]] Element* find(std::string_view key) const {
    for (const Entry& entry : entries) {
      if (entry.key == key) return entry.value.get();
    }
    return nullptr;
  }
};

/// "file:line:col", or the file alone when there is no line.
[[nodiscard]] std::string to_string(const std::string& file, ConfigPlace place);

}  // namespace millrace
