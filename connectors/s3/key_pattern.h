// SPDX-License-Identifier: Apache-2.0
// KeyPattern: a path_template taken apart: literals and variables in their order, and by which values of its records it
// keeps them apart. Parsed once, immutable, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/encode/route_spec.h"

namespace millrace::s3_sink {

struct KeyPattern {
  enum class Variable {
    literal,
    stream,
    topic,
    partition,
    date,
    year,
    month,
    day,
    hour,
    minute,
    timestamp,
    start_offset,
    end_offset,
    uuid,
    object,
    object_dir,
    object_name,
    object_stem,
    routed,  ///< {key}, {header.NAME}, {field.NAME}
  };
  struct Piece {
    Variable variable = Variable::literal;
    std::string text;       ///< of a literal; of a variable as it is written, braces and all
    std::size_t at = 0;     ///< character of the template, from 1
    std::size_t value = 0;  ///< of what is routed: which value of a record's route
  };

  /// Fails (config) with every problem of the text, one a line, each with its position.
  [[nodiscard]] static Result<KeyPattern> parse(std::string_view text);
  /// What may stand between braces, as people are told.
  [[nodiscard]] static std::vector<std::string> known_names();

  std::vector<Piece> pieces;
  std::vector<RouteSpec::Part> route;

  [[nodiscard]] bool has(Variable variable) const noexcept;
  /// A key tells a time.
  [[nodiscard]] bool tells_time() const noexcept;
  /// Tells objects of the source apart, so that no file may hold records of two.
  [[nodiscard]] bool per_object() const noexcept;
  /// Variables of one segment that no text keeps apart, two or more of them at a time: different values of theirs may
  /// make one name. Left out are those of a fixed width, and those that the file's own name repeats.
  [[nodiscard]] std::vector<std::vector<const Piece*>> run_together() const;
};

}  // namespace millrace::s3_sink
