// SPDX-License-Identifier: Apache-2.0
// JsonCursor: reads one JSON document front to back, as a type asks for it. The way from read_json() (json_read.h) into
// the parser: few calls per field, everything behind them out of line. A call that says false has met a fault; nothing
// is asked after that but error(). What is skipped is checked as thoroughly as what is read. One per lane; its memory
// is kept from one document to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/base/error.h"
#include "millrace/decode/payload.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What becomes of a record with a field its type does not list.
enum class UnknownFields {
  reject,  ///< a record error (unknown_field)
  ignore,  ///< the field is stepped over
  tell,    ///< next_field() says kUnknown, and the caller reads the value
};

class JsonCursor {
 public:
  JsonCursor();
  JsonCursor(JsonCursor&&) noexcept;
  JsonCursor& operator=(JsonCursor&&) noexcept;
  ~JsonCursor();

  void unknown_fields(UnknownFields policy) noexcept;
  /// At every depth, also in what is skipped. Costs a second walk of each document. A listed field that comes twice is
  /// an error either way.
  void reject_duplicate_keys(bool reject) noexcept;

  /// Stands before the value of `document`, which stays until the next open(); `readable_padding` as in PayloadBatch.
  [[nodiscard]] bool open(std::string_view document, std::size_t readable_padding);
  /// Nothing follows the value that was read.
  [[nodiscard]] bool close();

  [[nodiscard]] bool read(bool& value);
  /// A number without fraction and exponent, within the bounds.
  [[nodiscard]] bool read(std::int64_t& value, std::int64_t least, std::int64_t most);
  [[nodiscard]] bool read(std::uint64_t& value, std::uint64_t most);
  [[nodiscard]] bool read(double& value);
  [[nodiscard]] bool read(float& value);
  /// Borrows the document or, where there were escapes, the cursor: until the next open().
  [[nodiscard]] bool read(std::string_view& value);
  /// Any value, as it stands in the document.
  [[nodiscard]] bool read(decode::Json& value);
  /// Steps over a null; false, and no fault, when something else stands here.
  [[nodiscard]] bool take_null();
  /// An object stands here; asks, and steps over nothing.
  [[nodiscard]] bool at_object() const noexcept;

  static constexpr int kEnd = -1;
  static constexpr int kFault = -2;
  static constexpr int kUnknown = -3;
  [[nodiscard]] bool enter_object();
  /// Steps over the next key of the object and gives its index in `names`, looking at names[expected] first; kEnd
  /// behind the object; kFault; kUnknown under UnknownFields::tell. Names hold no quote, backslash or control
  /// character.
  [[nodiscard]] int next_field(const std::string_view* names, int count, int expected);
  /// The key behind which next_field() said kUnknown; until the next call of it.
  [[nodiscard]] std::string_view unknown_key() const noexcept;
  [[nodiscard]] bool enter_array();
  /// 0 before the next element of the array, kEnd behind the array, kFault.
  [[nodiscard]] int next_element();

  /// Faults of the type rather than of the document; all return false.
  [[gnu::cold]] bool refuse_missing(std::string_view name);
  [[gnu::cold]] bool refuse_repeated(std::string_view name);
  /// Where a fault was met, said from the inside out.
  [[gnu::cold]] void inside_field(std::string_view name);
  [[gnu::cold]] void inside_element(std::size_t index);

  /// The fault: class record, with field and byte. A document that is malformed anywhere is called that, whatever was
  /// met before.
  [[nodiscard, gnu::cold]] Error error() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
