// SPDX-License-Identifier: Apache-2.0
// Reading `sink: {s3: ...}` in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "connectors/s3/sink_options.h"
#include "millrace/config/config.h"

namespace millrace::s3_sink {

inline constexpr const char* kPlace = "url: s3://b/out\n";

inline Result<CheckedOptions> read(const std::string& yaml) {
  std::string text = "sink:\n  s3:\n";
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = yaml.find('\n', begin);
    text += "    " + yaml.substr(begin, end - begin) + "\n";
    begin = end == std::string::npos ? yaml.size() : end + 1;
  }
  auto config = Config::parse(text, "p.yaml");
  if (!config) return fail(config.error());
  const ConfigSection section = config->section("sink.s3");
  MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
  return check(options, section);
}

inline CheckedOptions accepted(const std::string& yaml) {
  auto options = read(yaml);
  EXPECT_TRUE(options) << options.error().message();
  return *options;
}

inline std::string refused(const std::string& yaml) {
  auto options = read(yaml);
  if (options) return "accepted";
  EXPECT_EQ(options.error().code(), ErrorCode::config);
  return options.error().message();
}

inline std::string with(const std::string& more) { return kPlace + more; }

}  // namespace millrace::s3_sink
