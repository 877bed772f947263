// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/identity.h"

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::string list_text(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ", ";
    text += '"' + printable(item) + '"';
  }
  return text + "]";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> SourceIdentity::Limits::fields() const {
  return {{"min_size", min_size},
          {"max_size", max_size},
          {"modified_after", modified_after},
          {"modified_before", modified_before}};
}

std::vector<std::pair<std::string, std::string>> SourceIdentity::fields() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"url", printable(url)},         {"format", format},
      {"compression", compression},    {"include", list_text(include)},
      {"exclude", list_text(exclude)}, {"start_after", printable(start_after)}};
  for (auto& [name, value] : limits.fields()) all.emplace_back(name, value.empty() ? "not set" : printable(value));
  all.emplace_back("shard", shard ? shard->describe() : "none");
  return all;
}

std::string SourceIdentity::default_name() const {
  RollingHash hash;
  hash.fold(url, "url", 0);
  hash.fold(format, compression, 0);
  for (const std::string& pattern : include) hash.fold(pattern, "include", 0);
  for (const std::string& pattern : exclude) hash.fold(pattern, "exclude", 0);
  hash.fold(start_after, "start_after", 0);
  // Those that are not set leave the name as it was before there were any.
  for (const auto& [name, value] : limits.fields()) {
    if (!value.empty()) hash.fold(value, name, 0);
  }
  return "s3-" + to_hex(hash.value()).substr(0, 8);
}

}  // namespace millrace::s3_source
