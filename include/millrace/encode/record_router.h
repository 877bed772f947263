// SPDX-License-Identifier: Apache-2.0
// RecordRouter: finds the route of each record. A document is walked once, for all its fields together; no allocation
// once its buffers have grown. One per lane and sink, on the lane's thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/decode/json_cursor.h"
#include "millrace/decode/payload.h"
#include "millrace/encode/json_write.h"
#include "millrace/encode/route_spec.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Why a value has no place in a key, to be read behind its name: "{field.a} holds an object ...".
[[nodiscard]] std::string_view why_no_value(ErrorCode reason) noexcept;

class RecordRouter {
 public:
  explicit RecordRouter(RouteSpec spec);

  /// Valid until the next call. Fails (class record) under OnMissing::fail only. Bytes, decode::Json and strings are
  /// looked into as they are; decode::Text has no fields; any other type is looked into as write_json writes it, and
  /// one that cannot be written so has no fields.
  template <class T>
  [[nodiscard]] Result<std::string_view> route(const T& record, const RecordMeta& meta) {
    if (!looks_inside()) return route_of(nullptr, 0, meta);
    if constexpr (std::same_as<T, decode::Bytes>) {
      return route_of(&record.view, record.readable_padding, meta);
    } else if constexpr (std::same_as<T, decode::Text>) {
      return route_of(nullptr, 0, meta);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      const std::string_view document = record;
      return route_of(&document, 0, meta);
    } else if constexpr (IsJsonWritable<T>) {
      written_.clear();
      JsonWriter writer(written_);
      if (!write_json(writer, record)) return route_of(nullptr, 0, meta);
      const std::string_view document = written_.view();
      return route_of(&document, 0, meta);
    } else {
      return route_of(nullptr, 0, meta);
    }
  }

  using Counts = std::vector<std::pair<ErrorCode, std::uint64_t>>;
  /// Values that the fallback stood for, by reason, since the last clear_counts().
  [[nodiscard]] const Counts& fallbacks() const noexcept { return fallbacks_; }
  void clear_counts() noexcept { fallbacks_.clear(); }

 private:
  /// Fields by their names, one level of documents each.
  struct Level {
    std::vector<std::string_view> names;
    std::vector<int> part;   ///< index of the part that ends at this name; -1: none
    std::vector<int> below;  ///< index of the level inside of it; -1: none
  };
  enum class Found : std::uint8_t { value, nothing, structure };

  [[nodiscard]] bool looks_inside() const noexcept { return !levels_.empty(); }
  [[nodiscard]] Result<std::string_view> route_of(const std::string_view* document, std::size_t readable_padding,
                                                  const RecordMeta& meta);
  [[nodiscard]] bool walk(std::string_view document, std::size_t readable_padding);
  [[nodiscard]] bool walk_object(std::size_t level);
  void forget(std::size_t level);
  void take_scalar(std::size_t part, std::string_view json);
  void take(std::size_t part, std::string_view value);
  [[nodiscard]] Result<void> settle(std::size_t part, bool sound);
  [[nodiscard, gnu::cold]] Error missing(std::size_t part, ErrorCode reason) const;
  std::size_t add_level();

  const RouteSpec spec_;
  std::vector<Level> levels_;  ///< the first is that of the document; empty: no part is a field
  JsonCursor cursor_;
  JsonCursor text_;  ///< for strings with escapes
  ByteBuffer written_;
  std::vector<std::string> values_;  ///< by part, as they stand in a key
  std::vector<Found> found_;
  std::string route_;
  Counts fallbacks_;
};

}  // namespace millrace
#pragma GCC visibility pop
