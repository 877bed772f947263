// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pipeline file: no crash, no hang, and what is accepted is written back as a file that reads the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "millrace/config/config.h"

namespace {

void walk(const millrace::ConfigSection& at) {
  if (at.where().empty()) std::abort();
  for (const std::string& key : at.keys()) walk(at.child(key));
  for (const millrace::ConfigSection& item : at.items()) walk(item);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using millrace::Config;
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "A") return "a value: {x} # [y] \"z\"";
    if (name == "E") return "";
    return std::nullopt;
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = Config::parse(text, "fuzz.yaml", environment);
  if (!config) {
    if (config.error().code() != millrace::ErrorCode::config || config.error().message().empty()) std::abort();
    return 0;
  }
  walk(config->root());
  const auto no_secrets = [](std::string_view) { return false; };
  const std::string yaml = config->to_yaml(no_secrets);
  const auto back = Config::parse(yaml, "fuzz.yaml", environment);
  if (!back || back->to_yaml(no_secrets) != yaml) std::abort();
  return 0;
}
