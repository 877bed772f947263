// SPDX-License-Identifier: Apache-2.0
// Fields: reads JSON objects strictly, as the manifest and the receipt are read: each field by name and type, none left
// over. Internal to the files that read and write these documents; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/s3/bytes_json.h"
#include "connectors/s3/stored_record.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

using Json = nlohmann::ordered_json;

/// Fails (manifest) on what is no JSON, nests absurdly deep, or has a name twice in one object. Never crashes on any
/// bytes. `document`: "a manifest", for messages.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view document);
/// "field 'lanes' is ...".
[[nodiscard]] Error wrong_field(std::string_view field, std::string_view why);

/// The inverse of Fields::stored.
[[nodiscard]] Json stored_json(const StoredRecord& record);

/// The fields of one object; the first thing that is wrong is kept and ends up in done().
class Fields {
 public:
  /// `path`: where the object stands in the document; empty at its top. `json` outlives this.
  Fields(const Json& json, std::string path, std::string_view document = "manifest");

  void number(std::string_view name, std::uint64_t& out, std::uint64_t most = INT64_MAX);
  /// Of either sign.
  void integer(std::string_view name, std::int64_t& out);
  void flag(std::string_view name, bool& out);
  void text(std::string_view name, std::string& out);
  /// A text that is left out where there is none.
  void text_if_set(std::string_view name, std::string& out);
  void bytes(std::string_view name, std::string& out);
  void byte_strings(std::string_view name, std::vector<std::string>& out);
  /// 16 lower-case hex digits.
  void hash(std::string_view name, std::uint64_t& out);
  void time(std::string_view name, UnixMicros& out);
  /// Fields name, bytes and hash of an object that we have written, in a folder that is known.
  void stored(StoredRecord& out);
  /// `read(json, path)` for each item of an array.
  template <class Read>
  void each(std::string_view name, Read read) {
    const Json* value = array(name);
    if (value == nullptr) return;
    for (std::size_t i = 0; i < value->size() && !error_; ++i) read((*value)[i], item_path(name, i));
  }
  /// `read(fields)` for an object inside.
  template <class Read>
  void inside(std::string_view name, Read read) {
    const Json* value = find(name);
    if (value == nullptr) return;
    Fields inner(*value, full(name));
    if (!inner.error_) read(inner);
    if (auto done = inner.done(); !done) keep(std::move(done).error());
  }
  /// A number under each name of an object inside, whatever the names.
  void numbers(std::string_view name, std::map<std::string, std::uint64_t>& out);

  [[nodiscard]] bool has(std::string_view name) const { return !error_ && json_.contains(name); }
  void keep(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void set(std::string_view name, std::string_view why) { keep(wrong_field(full(name), why)); }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  /// Fails with what was wrong, or with a field that nobody asked for.
  [[nodiscard]] Result<void> done();

 private:
  const Json* find(std::string_view name);
  const Json* array(std::string_view name);
  void text_of(const Json& value, const std::string& path, std::string& out);
  void bytes_of(const Json& value, const std::string& path, std::string& out);
  [[nodiscard]] std::string full(std::string_view name) const;
  [[nodiscard]] std::string item_path(std::string_view name, std::size_t index) const;

  const Json& json_;
  const std::string path_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

}  // namespace millrace::s3_source
