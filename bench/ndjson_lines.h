// SPDX-License-Identifier: Apache-2.0
// NDJSON for benchmarks, the same bytes each time: flat objects with numbers, flags and words, of a given mean length.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace millrace::bench {

inline std::string ndjson_lines(std::size_t total_bytes, std::size_t mean_line) {
  constexpr std::array<const char*, 12> kWords{"pressure", "steady", "valve", "opened",  "by",     "hand",
                                               "retry",    "in",     "naïve", "reading", "rising", "на пути"};
  std::mt19937_64 random(20260701);
  std::string all;
  all.reserve(total_bytes + 4 * mean_line);
  for (std::uint64_t n = 0; all.size() < total_bytes; ++n) {
    const std::uint64_t bits = random();
    const std::size_t begin = all.size();
    const std::size_t length = mean_line * (85 + bits % 31) / 100;
    fmt::format_to(std::back_inserter(all), R"({{"n":{},"id":"{:016x}","at":{},"ok":{},"value":{:.3f},"note":")", n,
                   random(), 1'600'000'000'000 + n * 41 + bits % 41, bits % 5 != 0,
                   static_cast<double>(bits % 2'000'003) / 1000);
    while (all.size() - begin + 4 < length) (all += kWords[random() % kWords.size()]) += ' ';
    all += "\"}\n";
  }
  return all;
}

}  // namespace millrace::bench
