// SPDX-License-Identifier: Apache-2.0
// JSON decoders: json() checks documents and gives them on as they came; json<T>() reads each into a T. One per lane,
// on its thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/decode/json_checker.h"
#include "millrace/decode/json_cursor.h"
#include "millrace/decode/json_read.h"
#include "millrace/decode/payload.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::decode {

/// How a payload holds documents. A blank payload, and in `lines` a blank line, holds none and is no error.
enum class JsonFraming {
  single,  ///< one document
  lines,   ///< one document a line; each line is judged for itself
  array,   ///< an array of documents; one bad element is an error of the whole payload
};

struct JsonOptions {
  OnError on_error = OnError::fail;
  /// At every depth. Off: untyped documents pass as they came; of a type's own fields a repeated one is always an
  /// error.
  bool reject_duplicate_keys = false;
  JsonFraming framing = JsonFraming::single;
  UnknownFields unknown_fields = UnknownFields::reject;  ///< json<T>() only
};

/// The lines of a payload that hold something, without LF or CR LF.
template <class Take>
[[nodiscard]] bool each_line(std::string_view payload, Take&& take) {
  while (!payload.empty()) {
    const std::size_t end = std::min(payload.find('\n'), payload.size());
    std::string_view line = payload.substr(0, end);
    payload.remove_prefix(std::min(end + 1, payload.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_blank(line) && !take(line)) return false;
  }
  return true;
}

struct JsonDecoder : ChainPart {
  JsonOptions options;
  [[nodiscard]] bool may_multiply() const noexcept { return options.framing != JsonFraming::single; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, JsonOptions options, Next next)
        : flow_(&flow), id_(id), options_(options), next_(std::move(next)) {
      checker_.reject_duplicate_keys(options.reject_duplicate_keys);
    }
    [[nodiscard]] bool take(std::string_view payload, std::size_t readable_padding, const RecordMeta& meta) {
      flow_->running = id_;
      if (options_.framing == JsonFraming::single) [[likely]]
        return one(payload, readable_padding, meta);
      const char* const end = payload.data() + payload.size() + readable_padding;
      if (is_blank(payload)) return blank();
      if (options_.framing == JsonFraming::array) return array(payload, readable_padding, meta);
      return each_line(payload, [&](std::string_view line) {
        return one(line, static_cast<std::size_t>(end - (line.data() + line.size())), meta);
      });
    }

   private:
    bool blank() {
      ++flow_->filtered;
      return true;
    }
    bool one(std::string_view document, std::size_t readable_padding, const RecordMeta& meta) {
      Json json;
      if (!checker_.check(document, readable_padding, json)) [[unlikely]]
        return is_blank(document) ? blank() : flow_->reject(checker_.error(), options_.on_error, id_, meta);
      ++flow_->decoded;
      return next_.push(json, meta);
    }
    bool array(std::string_view payload, std::size_t readable_padding, const RecordMeta& meta) {
      if (!checker_.check_array(payload, readable_padding, elements_)) [[unlikely]]
        return flow_->reject(checker_.error(), options_.on_error, id_, meta);
      for (const Json& element : elements_) {
        ++flow_->decoded;
        if (!next_.push(element, meta)) return false;
      }
      return true;
    }

    RecordFlow* flow_;
    StageId id_;
    JsonOptions options_;
    JsonChecker checker_;
    std::vector<Json> elements_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (decode json)"), options, std::move(next));
  }
};

/// A type that json<T>() can read.
template <class T>
concept IsJsonReadable = std::default_initializable<T> && requires(JsonCursor& cursor, T& value) {
  { read_json(cursor, value) } -> std::same_as<bool>;
};

template <class T>
struct TypedJsonDecoder : ChainPart {
  static_assert(IsJsonReadable<T>,
                "decode::json<T>: list the fields of T with MILLRACE_JSON_FIELDS, or give it a read_json; T is made "
                "without arguments");
  JsonOptions options;
  [[nodiscard]] bool may_multiply() const noexcept { return options.framing != JsonFraming::single; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, JsonOptions options, Next next)
        : flow_(&flow), id_(id), options_(options), next_(std::move(next)) {
      cursor_.unknown_fields(options.unknown_fields);
      cursor_.reject_duplicate_keys(options.reject_duplicate_keys);
    }
    [[nodiscard]] bool take(std::string_view payload, std::size_t readable_padding, const RecordMeta& meta) {
      flow_->running = id_;
      if (options_.framing == JsonFraming::single) [[likely]]
        return one(payload, readable_padding, meta);
      const char* const end = payload.data() + payload.size() + readable_padding;
      if (is_blank(payload)) return blank();
      if (options_.framing == JsonFraming::array) return array(payload, readable_padding, meta);
      return each_line(payload, [&](std::string_view line) {
        return one(line, static_cast<std::size_t>(end - (line.data() + line.size())), meta);
      });
    }

   private:
    bool blank() {
      ++flow_->filtered;
      return true;
    }
    template <class Value>
    bool read(std::string_view document, std::size_t readable_padding, Value& value) {
      return cursor_.open(document, readable_padding) && read_json(cursor_, value) && cursor_.close();
    }
    bool one(std::string_view document, std::size_t readable_padding, const RecordMeta& meta) {
      // The same value each time: its strings and vectors keep their memory.
      if (!read(document, readable_padding, record_)) [[unlikely]]
        return is_blank(document) ? blank() : flow_->reject(cursor_.error(), options_.on_error, id_, meta);
      ++flow_->decoded;
      return next_.push(std::as_const(record_), meta);
    }
    // All are read before one is given on, so that a bad element leaves none.
    bool array(std::string_view payload, std::size_t readable_padding, const RecordMeta& meta) {
      if (!read(payload, readable_padding, records_)) [[unlikely]]
        return flow_->reject(cursor_.error(), options_.on_error, id_, meta);
      for (const T& record : records_) {
        ++flow_->decoded;
        if (!next_.push(record, meta)) return false;
      }
      return true;
    }

    RecordFlow* flow_;
    StageId id_;
    JsonOptions options_;
    JsonCursor cursor_;
    T record_{};
    std::vector<T> records_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (decode json)"), options, std::move(next));
  }
};

/// Checked, untyped documents: records of decode::Json.
[[nodiscard]] inline JsonDecoder json(JsonOptions options = {}) { return {{}, options}; }
/// Typed documents: records of T, whose fields are listed (json_fields.h). What a T borrows lasts until it is encoded.
template <class T>
[[nodiscard]] TypedJsonDecoder<T> json(JsonOptions options = {}) {
  return {{}, options};
}

}  // namespace millrace::decode
#pragma GCC visibility pop
