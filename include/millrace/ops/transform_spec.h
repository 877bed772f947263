// SPDX-License-Identifier: Apache-2.0
// Transforms of JSON documents as data: what the section `transforms` of a pipeline file says, and what a chain in code
// gives to ops::transforms() (transforms.h). What each does to a document is on the page docs/guide/transforms.md.
// Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/ops/field_path.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

/// What a field is set to.
struct FieldValue {
  enum class Computed : std::uint8_t {
    none,       ///< `json`
    date_time,  ///< RFC 3339 in UTC, as text; this and the next four by the clock
    timestamp_nanos,
    timestamp_micros,
    timestamp_millis,
    timestamp_seconds,
    uuid_v4,
    uuid_v7,
    record_date_time,  ///< from here on by the record's own time, so that a replay says the same
    record_timestamp_nanos,
    record_timestamp_micros,
    record_timestamp_millis,
    record_timestamp_seconds,
  };
  Computed computed = Computed::none;
  std::string json = "null";  ///< one JSON document
};

/// As a pipeline file has it: "uuid_v4"; "static" for none.
[[nodiscard]] std::string_view name_of(FieldValue::Computed computed) noexcept;
/// All but none, in the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> computed_names() noexcept;

/// When a field is set.
enum class SetWhen : std::uint8_t { always, key_exists, key_not_exists };

struct FieldSetting {
  FieldPath key;
  FieldValue value;
  SetWhen condition = SetWhen::always;
};

/// Sets fields; what stands there already is replaced.
struct AddFields {
  std::vector<FieldSetting> fields;  ///< no path twice, none below another
};
/// Sets fields, each on its condition.
struct UpdateFields {
  std::vector<FieldSetting> fields;  ///< likewise
};
struct DeleteFields {
  std::vector<FieldPath> fields;  ///< likewise
};

/// Of a text.
struct TextPattern {
  enum class Kind : std::uint8_t { exact, starts_with, ends_with, contains, regex } kind = Kind::exact;
  std::string text;  ///< a regex is RE2's, looked for anywhere in the text
};
/// Of a value. contains and regex are met by strings only, the three orders by numbers only.
struct ValuePattern {
  enum class Kind : std::uint8_t {
    equals,
    contains,
    regex,
    greater_than,
    less_than,
    between,
    is_null,
    is_not_null,
    is_string,
    is_number,
    is_boolean,
    is_object,
    is_array,
  } kind = Kind::equals;
  std::string text;   ///< equals: a JSON document; contains, regex: the text; the orders: a number as JSON spells it
  std::string above;  ///< between: the other number; both ends count
};
/// Both must be met where both are given.
struct FieldPattern {
  std::optional<TextPattern> key;
  std::optional<ValuePattern> value;
};
/// Keeps some fields of an object and drops the others.
struct FilterFields {
  FieldPath at;                        ///< of the object; no names: the document
  std::vector<FieldPath> keep_fields;  ///< below that object; stay whatever the patterns say
  std::vector<FieldPattern> patterns;
  bool include_matching = true;  ///< what meets a pattern stays; false: goes
};

/// The document becomes the value of one of its fields.
struct UnwrapEnvelope {
  FieldPath field;
};
/// Keeps the documents that meet an expression.
struct KeepWhere {
  std::string where;  ///< docs/guide/transforms.md has the grammar
};
/// Keeps nothing but these fields.
struct ProjectFields {
  std::vector<FieldPath> fields;  ///< no path twice, none below another
};
/// Gives fields other names, in the object in which each stands.
struct RenameFields {
  std::vector<std::pair<FieldPath, std::string>> fields;
};
/// Puts the fields of inner objects into the document, their names joined.
struct FlattenFields {
  std::string separator = ".";
  std::uint32_t depth = 0;  ///< how many levels are taken out; 0: all
};
/// A program of jq: each document becomes what it gives out. It sees the document and nothing else.
struct JqFilter {
  std::string program;
  std::uint64_t max_outputs = 10'000;  ///< documents that it may give out for one source record; at least 1
};

using TransformSpec = std::variant<AddFields, DeleteFields, FilterFields, UpdateFields, UnwrapEnvelope, KeepWhere,
                                   ProjectFields, RenameFields, FlattenFields, JqFilter>;

/// The key that stands for it in a pipeline file: "add_fields".
[[nodiscard]] std::string_view name_of(const TransformSpec& spec) noexcept;

}  // namespace millrace::ops
#pragma GCC visibility pop
