// SPDX-License-Identifier: Apache-2.0
#include "cli/from_to.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/base/time.h"
#include "millrace/codec/decompressor.h"
#include "millrace/store/store_url.h"

namespace millrace::cli {
namespace {

/// Outputs that are no place to keep anything beside.
bool is_stdout(std::string_view to) { return to == "-" || to == "stdout" || to == "stdout:" || to == "stdout://"; }
bool is_blackhole(std::string_view to) { return to == "blackhole" || to == "blackhole:" || to == "blackhole://"; }

std::string short_hash(std::string_view text) {
  return fmt::format("{:08x}", XXH3_64bits(text.data(), text.size()) & 0xFFFFFFFFU);
}

/// A value of Config::set that is taken as it stands, whatever it begins with.
std::string verbatim(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

std::string_view last_segment(std::string_view key) {
  while (key.ends_with('/')) key.remove_suffix(1);
  return key.substr(key.rfind('/') + 1);
}

bool is_word(std::string_view text) {
  for (const char c : text) {
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9')) return false;
  }
  return !text.empty() && text.size() <= 8;
}

/// A manifest for an output that cannot be gone on with: a file of this process, removed when it ends.
std::string scratch_manifest() {
  const char* folder = std::getenv("TMPDIR");
  const std::string base = folder != nullptr && folder[0] == '/' ? folder : "/tmp";
  return fmt::format("{}/millrace-{}-{:08x}/manifest.json", base, ::getpid(), Random::system().next() & 0xFFFFFFFFU);
}

Result<void> set_all(Config& config, const std::vector<std::pair<std::string, std::string>>& values,
                     std::string_view origin) {
  for (const auto& [path, value] : values) MILLRACE_TRY(config.set(path, verbatim(value), origin));
  return {};
}

/// The manifest lies in the sink's store: it is reached as the sink's is.
Result<void> share_sink_store(Config& config) {
  const ConfigSection sink = config.section("sink.s3");
  std::vector<std::pair<std::string, std::string>> values;
  const std::string to = "source.s3.checkpoint.store.";
  for (const char* key : {"region", "endpoint", "access_key_id", "secret_access_key", "session_token"}) {
    if (sink.child(key).exists()) values.emplace_back(to + key, sink.child(key).text());
  }
  if (const ConfigSection path_style = sink.child("path_style"); path_style.exists()) {
    values.emplace_back(to + "virtual_hosted_style_request", path_style.text() == "true" ? "false" : "true");
  }
  for (const std::string& key : sink.child("store").keys()) {
    values.emplace_back(to + key, sink.child("store").child(key).text());
  }
  return set_all(config, values, "--to");
}

/// Is each record one JSON document, which may have newlines in it?
bool gives_json(const Config& config) {
  const std::string format = config.section("source.s3.format").text();
  const ConfigSection decode = config.section("decode");
  return (format == "json_array" || format == "csv") && !decode.child("raw").exists() && !decode.child("text").exists();
}

/// Where nothing else was set: byte for byte, one record a line; a whole object as it was; what is JSON only once it is
/// read as JSON lines.
Result<void> copy_records(Config& config, const std::string& from) {
  const ConfigSection sink = config.section("sink.s3");
  if (!sink.exists()) return {};
  const auto missing = [&](const char* key) { return !sink.child(key).exists(); };
  if (missing("path_template")) MILLRACE_TRY(config.set("sink.s3.path_template", verbatim("{topic}"), "--to"));
  if (missing("output_format") && gives_json(config)) {
    MILLRACE_TRY(config.set("sink.s3.output_format", "json_lines", "--to"));
    if (missing("wrap")) MILLRACE_TRY(config.set("sink.s3.wrap", "false", "--to"));
    return missing("extension") ? config.set("sink.s3.extension", "ndjson", "--to") : Result<void>();
  }
  if (missing("output_format")) MILLRACE_TRY(config.set("sink.s3.output_format", "raw", "--to"));
  if (config.section("sink.s3.output_format").text() != "raw") return {};
  if (missing("delimiter")) {
    const bool whole = config.section("source.s3.format").text() == "raw";
    MILLRACE_TRY(config.set("sink.s3.delimiter", whole ? R"("")" : R"("\n")", "--to"));
  }
  const bool as_stored = config.section("source.s3.compression").text() == "none";
  if (missing("extension")) MILLRACE_TRY(config.set("sink.s3.extension", extension_of(from, as_stored), "--to"));
  return {};
}

Result<void> keep_position(LoadedConfig& loaded, const std::string& to) {
  if (is_stdout(to) || is_blackhole(to)) {
    loaded.scratch_manifest = scratch_manifest();
    return loaded.config.set("source.s3.checkpoint.url", "file://" + loaded.scratch_manifest, "--to");
  }
  MILLRACE_ASSIGN(const std::string url, manifest_url_beside(loaded.config.section("source.s3.url").text(), to));
  MILLRACE_TRY(loaded.config.set("source.s3.checkpoint.url", verbatim(url), "--to"));
  if (loaded.config.section("source.s3.checkpoint.store").exists()) return {};
  return share_sink_store(loaded.config);
}

}  // namespace

std::string extension_of(const std::string& from, bool as_stored) {
  const auto url = StoreUrl::parse(from);
  if (!url || url->key.ends_with('/')) return "ndjson";
  std::string_view name = last_segment(url->key);
  if (!as_stored && codec_of_key(name) != Codec::none) name = name.substr(0, name.rfind('.'));
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !is_word(name.substr(dot + 1))) return "ndjson";
  return std::string(name.substr(dot + 1));
}

Result<std::string> manifest_url_beside(const std::string& from, const std::string& to) {
  MILLRACE_ASSIGN(const StoreUrl source, StoreUrl::parse(from));
  MILLRACE_ASSIGN(StoreUrl output, StoreUrl::parse(to));
  const auto under_source = [&](const std::string& key) {
    return output.same_store(source) && key.starts_with(source.key);
  };
  if (under_source(output.key.empty() || output.key.ends_with('/') ? output.key : output.key + "/")) {
    return fail(Error::config(fmt::format(
        "--to {} lies under --from {}: what is written would be read as input. A prefix is a string, not a folder; end "
        "--from with '/' if only the name begins alike",
        printable_key(to), printable_key(from))));
  }
  while (output.key.ends_with('/')) output.key.pop_back();
  const std::string name(last_segment(output.key));
  output.key.resize(output.key.size() - name.size());
  output.key += fmt::format("{}{}.millrace-{}.json", name.empty() ? "" : ".", name, short_hash(from));
  if (under_source(output.key)) {
    return fail(Error::config(
        fmt::format("--from {} takes in the place beside --to where the position would be kept ({}); say where it "
                    "may be: --set source.s3.checkpoint.url=URL",
                    printable_key(from), printable_key(output.to_string()))));
  }
  return output.to_string();
}

Result<LoadedConfig> load_config(const InputArguments& input) {
  LoadedConfig loaded;
  ConfigProblems problems;
  if (!input.file.empty()) {
    loaded.name = input.file;
    MILLRACE_ASSIGN(loaded.config, Config::load(input.file));
  } else {
    loaded.name = fmt::format("--from {} --to {}", printable_key(input.from), printable_key(input.to));
    MILLRACE_TRY(set_all(loaded.config, {{"source.s3.url", input.from}}, "--from"));
    if (is_stdout(input.to)) {
      MILLRACE_TRY(loaded.config.set("sink.stdout", "{}", "--to"));
    } else if (is_blackhole(input.to)) {
      MILLRACE_TRY(loaded.config.set("sink.blackhole", "{}", "--to"));
    } else {
      MILLRACE_TRY(set_all(loaded.config, {{"sink.s3.url", input.to}}, "--to"));
    }
  }
  for (const std::string& change : input.set) {
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos) {
      // Only what can be a path is repeated: what follows may be a secret.
      const std::string path = change.substr(0, change.find_first_of(": \t\"'{["));
      problems.add("", fmt::format("--set {}: write PATH=VALUE, as in source.s3.lanes=8",
                                   path.size() == change.size() ? printable(path) : printable(path) + "..."));
    } else if (auto set = loaded.config.set(std::string_view(change).substr(0, equals),
                                            std::string_view(change).substr(equals + 1), "--set");
               !set) {
      problems.add(set.error());
    }
  }
  MILLRACE_TRY(problems.result());
  if (input.file.empty()) MILLRACE_TRY(copy_records(loaded.config, input.from));
  if (input.file.empty() && !loaded.config.section("source.s3.checkpoint.url").exists()) {
    MILLRACE_TRY(keep_position(loaded, input.to));
  }
  return loaded;
}

}  // namespace millrace::cli
