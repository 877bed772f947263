// SPDX-License-Identifier: Apache-2.0
// The fault server as a program, for tests of whole programs and for trying things by hand:
//   s3_fault_server [--port N] [--latency-ms N] [--case NAME] [--bucket NAME] [BUCKET/KEY=FILE ...]
// Prints "endpoint http://127.0.0.1:PORT" once it listens, and serves until standard input ends.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/s3_fault_server/fault_server.h"

namespace {

using millrace::testing::FaultServer;
using millrace::testing::FaultServerOptions;

int usage(std::string_view what) {
  fmt::print(stderr, "s3_fault_server: {}\n", what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  FaultServerOptions options;
  std::vector<std::string> cases;
  std::vector<std::string> buckets;
  std::vector<std::string_view> objects;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      objects.push_back(word);
      continue;
    }
    if (++i == argc) return usage(fmt::format("{} needs a value", word));
    const std::string_view value = argv[i];
    int number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (word == "--port") {
      options.port = static_cast<std::uint16_t>(number);
    } else if (word == "--latency-ms") {
      options.latency = std::chrono::milliseconds(number);
    } else if (word == "--case") {
      cases.emplace_back(value);
    } else if (word == "--bucket") {
      buckets.emplace_back(value);
    } else {
      return usage(fmt::format("no option {} is known", word));
    }
  }
  auto server = FaultServer::start(options);
  if (!server) return usage(server.error().message());
  for (const auto& bucket : buckets) (*server)->create_bucket(bucket);
  for (const auto object : objects) {
    const auto slash = object.find('/');
    const auto equals = object.rfind('=');
    if (slash == object.npos || equals == object.npos || equals < slash) return usage("objects are BUCKET/KEY=FILE");
    std::ifstream file(std::string(object.substr(equals + 1)), std::ios::binary);
    if (!file) return usage(fmt::format("{} cannot be read", object.substr(equals + 1)));
    (*server)->put_object(object.substr(0, slash), object.substr(slash + 1, equals - slash - 1),
                          std::string(std::istreambuf_iterator<char>(file), {}));
  }
  for (const auto& name : cases) {
    if (auto loaded = (*server)->load_case(name); !loaded) return usage(loaded.error().message());
  }
  fmt::print("endpoint {}\n", (*server)->endpoint());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
