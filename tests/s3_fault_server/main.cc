// SPDX-License-Identifier: Apache-2.0
// The fault server as a program, for tests of whole programs and for trying things by hand:
//   s3_fault_server [--port N] [--latency-ms N] [--case NAME] [--bucket NAME] [--credentials-lifetime SECONDS
//                   [--outage-after SECONDS] [--outage-for SECONDS]] [--made-up N [--page-latency-ms N]]
//                   [--check-signatures no] [BUCKET/KEY=FILE ...]
// Prints "endpoint http://127.0.0.1:PORT" once it listens, and serves until standard input ends. Each line of it is a
// command: "fault LINE" adds a fault, "clear" ends them all, "count OPERATION" tells how many such requests came; what
// is printed for one is "ok", the number, or "error: ...". With a lifetime it
// also prints "credentials URL", where each request gets keys for so long, and at the end one line of JSON that says
// what became of them; during the outage that url answers 500. --made-up gives the bucket "many" N objects below in/,
// of one record each, which are made up while they are listed and read; nothing is kept of the requests then.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/s3_fault_server/credential_mint.h"
#include "tests/s3_fault_server/fault_server.h"

namespace {

using millrace::testing::CredentialMint;
using millrace::testing::FaultServer;
using millrace::testing::FaultServerOptions;

int usage(std::string_view what) {
  fmt::print(stderr, "s3_fault_server: {}\n", what);
  return 2;
}

void print_uses(const FaultServer& server, const CredentialMint& mint) {
  std::uint64_t used = 0;
  std::uint64_t good = 0;
  std::uint64_t refused = 0;
  std::int64_t least = INT64_MAX;
  for (const auto& use : server.credential_uses()) {
    if (use.uses > 0) ++used;
    good += use.uses;
    refused += use.refused;
    if (use.uses > 0) least = std::min(least, use.expires - use.last_use);
  }
  fmt::print(R"({{"issued": {}, "outage_answers": {}, "used": {}, "good_requests": {}, "expired_requests": {}, )"
             R"("least_left_ms": {}}})"
             "\n",
             mint.answered(), mint.refused(), used, good, refused, used == 0 ? 0 : least / 1000);
  std::fflush(stdout);
}

std::string obey(FaultServer& server, std::string_view line) {
  const auto blank = std::min(line.find(' '), line.size());
  const std::string_view verb = line.substr(0, blank);
  const std::string_view rest = line.substr(std::min(blank + 1, line.size()));
  if (verb == "fault") {
    auto fault = millrace::testing::ServerFault::parse(rest);
    if (!fault) return fmt::format("error: {}", fault.error().message());
    server.add_fault(*std::move(fault));
    return "ok";
  }
  if (verb == "clear") {
    server.clear_faults();
    return "ok";
  }
  if (verb == "count") return fmt::format("{}", server.count(rest));
  return fmt::format("error: no command '{}'", verb);
}

}  // namespace

int main(int argc, char** argv) {
  FaultServerOptions options;
  std::vector<std::string> cases;
  std::vector<std::string> buckets;
  std::vector<std::string_view> objects;
  int lifetime = 0;
  int outage_after = 0;
  int outage_for = 0;
  std::uint64_t made_up = 0;
  int page_latency = 0;
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
    } else if (word == "--credentials-lifetime") {
      lifetime = number;
    } else if (word == "--outage-after") {
      outage_after = number;
    } else if (word == "--outage-for") {
      outage_for = number;
    } else if (word == "--made-up") {
      made_up = static_cast<std::uint64_t>(number);
      options.keep_log = false;
    } else if (word == "--check-signatures") {
      options.check_signatures = value != "no";
    } else if (word == "--page-latency-ms") {
      page_latency = number;
    } else {
      return usage(fmt::format("no option {} is known", word));
    }
  }
  auto server = FaultServer::start(options);
  if (!server) return usage(server.error().message());
  for (const auto& bucket : buckets) (*server)->create_bucket(bucket);
  if (made_up > 0) {
    (*server)->set_synthetic_keys("many", {"in/", made_up, std::make_shared<const std::string>("{\"n\":1}\n")});
  }
  if (page_latency > 0) {
    (*server)->add_fault(fmt::format("op=ListObjectsV2 times=every delay_ms={}", page_latency));
  }
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
  std::unique_ptr<CredentialMint> mint;
  if (lifetime > 0) {
    auto made = CredentialMint::start(**server, std::chrono::seconds(lifetime));
    if (!made) return usage(made.error().message());
    mint = std::move(*made);
    constexpr std::int64_t kSecond = 1'000'000;
    if (outage_for > 0) mint->be_down((*server)->now() + outage_after * kSecond, std::chrono::seconds(outage_for));
    fmt::print("credentials {}\n", mint->uri());
  }
  fmt::print("endpoint {}\n", (*server)->endpoint());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{}\n", obey(**server, line));
    std::fflush(stdout);
  }
  if (mint) print_uses(**server, *mint);
  return 0;
}
