// SPDX-License-Identifier: Apache-2.0
// RouteSpec: by which values of its records a sink keeps them apart, as data. What it makes of a record is its route:
// the values as they stand in a key, in the order of the parts, with a '/' between two of them. A value; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "millrace/encode/object_name.h"

#pragma GCC visibility push(default)
namespace millrace {

struct RouteSpec {
  struct Part {
    enum class From {
      key,     ///< the record's key
      header,  ///< its last header of this name
      field,   ///< a scalar of its JSON document
    } from = From::key;
    std::string name;  ///< of a header, or the way to a field: names with dots between them
    friend bool operator==(const Part&, const Part&) = default;
  };
  /// What stands for a value that a record lacks: no such field, null, an empty string, an object or array, a document
  /// that is no JSON, more than `max_value` bytes.
  enum class OnMissing {
    fallback,  ///< `fallback`, and it is counted
    fail,      ///< the record is bad, and goes the way of those that cannot be encoded
  };

  std::vector<Part> parts;  ///< empty: records are not kept apart
  NameEncoding names = NameEncoding::replace;
  bool hides_dots = false;  ///< as in keep_segment()
  OnMissing on_missing = OnMissing::fallback;
  std::string fallback = "__HIVE_DEFAULT_PARTITION__";
  std::size_t max_value = 255;  ///< bytes of one value as it stands in a key; a file's name may have no more

  [[nodiscard]] bool empty() const noexcept { return parts.empty(); }
};

}  // namespace millrace
#pragma GCC visibility pop
