// SPDX-License-Identifier: Apache-2.0
#include "cli/import_iggy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "millrace/base/printable.h"
#include "millrace/config/values.h"

namespace millrace::cli {
namespace {

using Kind = TomlValue::Kind;

/// A text as YAML reads it, whatever it holds: JSON's quotes, and a dollar that begins no variable.
std::string yaml_text(std::string_view text) {
  std::string out;
  for (const char c : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    out += c;
    if (c == '$') out += c;
  }
  return out;
}

/// Any value in YAML's flow form, without the members named.
std::string flow(const TomlValue& value, std::string_view without = {}) {
  std::string out;
  const auto separate = [&] {
    if (out.size() > 1) out += ", ";
  };
  switch (value.kind) {
    case Kind::table:
      out = "{";
      for (const auto& [name, member] : value.members) {
        if (name == without) continue;
        separate();
        out += fmt::format("{}: {}", yaml_text(name), flow(member));
      }
      return out + "}";
    case Kind::list:
      out = "[";
      for (const TomlValue& item : value.items) {
        separate();
        out += flow(item);
      }
      return out + "]";
    case Kind::string:
    case Kind::other:
      return yaml_text(value.text);
    case Kind::number:
      // Infinity and what is no number, as YAML has them: refused where JSON is wanted, and no word by accident.
      if (value.text.ends_with("inf")) return value.text.starts_with('-') ? "-.inf" : ".inf";
      return value.text.ends_with("nan") ? ".nan" : value.text;
    case Kind::integer:
    case Kind::boolean:
      return value.text;
  }
  return out;
}

/// "8 MiB", "1h 30m": what the runtime's libraries read with spaces.
std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// Names of fields: there a dot is one, here it leads into an object.
void escape_dots(TomlValue& value, bool is_name = false) {
  if (value.kind == Kind::string && is_name) {
    std::string escaped;
    for (const char c : value.text) {
      if (c == '.' || c == '\\') escaped += '\\';
      escaped += c;
    }
    value.text = std::move(escaped);
  }
  for (TomlValue& item : value.items) escape_dots(item, is_name);
  for (auto& [name, member] : value.members) {
    if (name == "value") continue;  // data, whatever its members are called
    escape_dots(member, name == "key" || name == "field" || name == "fields" || name == "keep_fields");
  }
}

bool says_yes(const TomlValue* value) { return value != nullptr && value->text == "true"; }

class Import {
 public:
  Import(const TomlValue& connector, const ImportRequest& request) : connector_(&connector), request_(&request) {}

  Result<ImportedPipeline> pipeline(const std::string& file) {
    MILLRACE_TRY(check_kind(file));
    MILLRACE_ASSIGN(const TomlValue* stream, chosen_stream(file));
    out_.yaml = fmt::format("pipeline:\n  name: {}\n", yaml_text(key()));
    add_source(*stream);
    add_decode(*stream);
    add_transforms();
    add_sink();
    note_the_rest();
    std::string head =
        fmt::format("# From {}, the connector {} of Apache Iggy's runtime.\n", printable(file), printable(key()));
    for (const std::string& note : out_.notes) head += "# " + note + "\n";
    out_.yaml = head + out_.yaml;
    return std::move(out_);
  }

 private:
  void note(std::string text) { out_.notes.push_back(std::move(text)); }
  void line(std::string_view name, std::string_view value) { out_.yaml += fmt::format("    {}: {}\n", name, value); }
  [[nodiscard]] std::string text_of(std::string_view name, std::string otherwise = {}) const {
    const TomlValue* value = connector_->find(name);
    return value != nullptr ? value->text : otherwise;
  }
  [[nodiscard]] std::string key() const { return text_of("key", "iggy-to-s3"); }

  Result<void> check_kind(const std::string& file) const {
    if (text_of("type") != "sink") {
      return fail(
          Error::config(fmt::format("{}: type is '{}'; only a connector of type \"sink\" that writes to S3 has a "
                                    "counterpart",
                                    file, printable(text_of("type"), 40))));
    }
    const TomlValue* plugin = connector_->find("plugin_config");
    if (plugin != nullptr && plugin->find("bucket") != nullptr) return {};
    return fail(
        Error::config(fmt::format("{}: [plugin_config] names no bucket, so this is not Iggy's S3 sink (path {}); "
                                  "no other sink has a counterpart",
                                  file, printable(text_of("path", "is not given"), 80))));
  }

  Result<const TomlValue*> chosen_stream(const std::string& file) const {
    const TomlValue* all = connector_->find("streams");
    if (all == nullptr || all->items.empty()) {
      return fail(Error::config(fmt::format("{}: has no [[streams]], so there is nothing to read", file)));
    }
    std::vector<std::string> names;
    const TomlValue* chosen = nullptr;
    for (const TomlValue& stream : all->items) {
      const TomlValue* name = stream.find("stream");
      if (name == nullptr || stream.find("topics") == nullptr) {
        return fail(Error::config(fmt::format("{}: an entry of [[streams]] lacks stream or topics", file)));
      }
      names.push_back(name->text);
      if (request_->stream.empty() || name->text == request_->stream) chosen = chosen == nullptr ? &stream : chosen;
    }
    const bool one = request_->stream.empty() ? names.size() == 1 : std::ranges::count(names, request_->stream) == 1;
    if (chosen != nullptr && one) return chosen;
    return fail(
        Error::config(fmt::format("{}: has the streams {}; a pipeline reads one, so run this once for each with "
                                  "--stream NAME",
                                  file, printable(fmt::format("{}", fmt::join(names, ", ")), 200))));
  }

  void add_source(const TomlValue& stream) {
    out_.yaml += "source:\n  iggy:\n";
    add_server();
    line("stream", yaml_text(stream.find("stream")->text));
    line("topics", flow(*stream.find("topics")));
    const TomlValue* group = stream.find("consumer_group");
    line("consumer_group", yaml_text(group != nullptr ? group->text : "iggy-connect-sink-" + key()));
    if (const TomlValue* batch = stream.find("batch_length")) line("batch_length", batch->text);
    if (const TomlValue* interval = stream.find("poll_interval"))
      line("poll_interval", duration(*interval, "poll_interval"));
    for (const auto& [name, value] : stream.members) {
      constexpr std::array kKnown{"stream", "topics", "schema", "consumer_group", "batch_length", "poll_interval"};
      if (std::ranges::find(kKnown, name) == kKnown.end()) no_counterpart("[[streams]] " + name);
    }
  }

  // Passwords and tokens stay out of the file.
  void add_server() {
    const TomlValue* iggy = request_->runtime != nullptr ? request_->runtime->find("iggy") : nullptr;
    const auto given = [&](std::string_view name) { return iggy != nullptr ? iggy->find(name) : nullptr; };
    const TomlValue* address = given("address");
    line("address", yaml_text(address != nullptr ? address->text : "localhost:8090"));
    if (address == nullptr) note("the address is the runtime's default; give --runtime, or change it");
    if (const TomlValue* token = given("token"); token != nullptr && !token->text.empty()) {
      if (token->text.starts_with("file:")) {
        line("token_file", yaml_text(token->text.substr(5)));
      } else {
        line("token", "${IGGY_TOKEN}");
        note("the token is not copied: set IGGY_TOKEN, or use token_file");
      }
    } else {
      const TomlValue* user = given("username");
      line("username", yaml_text(user != nullptr ? user->text : "iggy"));
      line("password", "${IGGY_PASSWORD}");
      note("the password is not copied: set IGGY_PASSWORD");
    }
    const TomlValue* tls = given("tls");
    if (tls == nullptr || !says_yes(tls->find("enabled"))) return;
    std::string parts = "enabled: true";
    for (const auto& [name, here] : {std::pair{"ca_file", "ca_file"}, {"domain", "server_name"}}) {
      if (const TomlValue* part = tls->find(name); part != nullptr && !part->text.empty()) {
        parts += fmt::format(", {}: {}", here, yaml_text(part->text));
      }
    }
    line("tls", "{" + parts + "}");
  }

  void add_decode(const TomlValue& stream) {
    const TomlValue* given = stream.find("schema");
    const std::string schema = given != nullptr ? given->text : "json";
    if (schema == "json" || schema == "text" || schema == "raw") {
      out_.yaml += fmt::format("decode:\n  {}: {{}}\n", schema);
      return;
    }
    note(fmt::format("schema {} has no counterpart: payloads pass as they are", printable(schema, 40)));
    out_.yaml += "decode:\n  raw: {}\n";
  }

  void add_transforms() {
    const TomlValue* all = connector_->find("transforms");
    if (all == nullptr) return;
    std::string items;
    std::size_t count = 0;
    for (const auto& [name, options] : all->members) {
      constexpr std::array kKnown{"add_fields", "delete_fields", "filter_fields", "update_fields", "unwrap_envelope"};
      if (!says_yes(options.find("enabled"))) {
        note(fmt::format("transforms.{} is not enabled, and left out", printable(name, 40)));
      } else if (std::ranges::find(kKnown, name) == kKnown.end()) {
        no_counterpart("transforms." + name);
      } else {
        TomlValue escaped = options;
        escape_dots(escaped);
        items += fmt::format("  - {}: {}\n", name, flow(escaped, "enabled"));
        ++count;
      }
    }
    if (items.empty()) return;
    out_.yaml += "transforms:\n" + items;
    if (count > 1) note("transforms run in the order of this file; Iggy's runtime runs them in any order");
  }

  void add_sink() {
    struct Known {
      std::string_view name;
      enum class As { text, word, size, duration } as;
    };
    using enum Known::As;
    constexpr std::array kKnown{
        Known{"bucket", text},        Known{"prefix", text},           Known{"region", text},
        Known{"endpoint", text},      Known{"path_template", text},    Known{"file_rotation", word},
        Known{"max_file_size", size}, Known{"output_format", word},    Known{"max_messages_per_file", word},
        Known{"max_attempts", word},  Known{"max_retries", word},      Known{"retry_delay", duration},
        Known{"path_style", word},    Known{"include_metadata", word}, Known{"include_headers", word}};
    const TomlValue& plugin = *connector_->find("plugin_config");
    const TomlValue* format = plugin.find("output_format");
    const bool raw = format != nullptr && format->text == "raw";
    out_.yaml += "sink:\n  s3:\n";
    if (request_->compat) line("compat", "iggy");
    for (const auto& [name, value] : plugin.members) {
      const auto known = std::ranges::find(kKnown, std::string_view(name), &Known::name);
      if (name == "access_key_id" || name == "secret_access_key") {
        line(name, name == "access_key_id" ? "${S3_ACCESS_KEY_ID}" : "${S3_SECRET_ACCESS_KEY}");
        continue;
      }
      if (known == kKnown.end()) {
        no_counterpart("[plugin_config] " + name);
      } else if (raw && name.starts_with("include_")) {
        note(fmt::format("{} does nothing with output_format raw, and is left out", name));
      } else {
        line(name, known->as == text       ? yaml_text(value.text)
                   : known->as == size     ? without_spaces(value.text)
                   : known->as == duration ? this->duration(value, name)
                                           : value.text);
      }
    }
    if (plugin.find("secret_access_key") != nullptr) {
      note("the keys of the store are not copied: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or remove them here");
    }
    const TomlValue* endpoint = plugin.find("endpoint");
    if (endpoint != nullptr && endpoint->text.starts_with("http://")) line("store", "{allow_http: \"true\"}");
    if (request_->compat) return;
    if (raw) line("delimiter", "\"\"");
    note(
        "a quiet partition is written after five minutes (max_file_age), and a key is never overwritten (if_exists); "
        "--compat keeps Iggy's ways");
    const TomlValue* rotation = plugin.find("file_rotation");
    if (rotation != nullptr && rotation->text == "messages" && plugin.find("max_file_size") == nullptr) {
      note("a file also ends at 8MiB (max_file_size)");
    }
  }

  std::string duration(const TomlValue& value, std::string_view name) {
    std::string text = without_spaces(value.text);
    if (!parse_duration(text)) {
      note(fmt::format("{} '{}' is no duration here (\"1m30s\"): change it", name, printable(value.text, 40)));
    }
    return text;
  }

  void note_the_rest() {
    if (const TomlValue* enabled = connector_->find("enabled"); enabled != nullptr && !says_yes(enabled)) {
      note("the connector is not enabled there");
    }
    constexpr std::array kKnown{"type", "key", "enabled", "plugin_config", "transforms", "streams"};
    constexpr std::array kNeedless{"version", "name", "path", "plugin_config_format", "verbose", "benchmark"};
    for (const auto& [name, value] : connector_->members) {
      if (std::ranges::find(kKnown, name) != kKnown.end() || std::ranges::find(kNeedless, name) != kNeedless.end()) {
        continue;
      }
      no_counterpart(name);
    }
  }

  void no_counterpart(const std::string& name) {
    note(fmt::format("{} has no counterpart, and is left out", printable(name, 80)));
  }

  const TomlValue* connector_;
  const ImportRequest* request_;
  ImportedPipeline out_;
};

}  // namespace

Result<ImportedPipeline> import_iggy(const TomlValue& connector, const std::string& file,
                                     const ImportRequest& request) {
  return Import(connector, request).pipeline(file);
}

}  // namespace millrace::cli
