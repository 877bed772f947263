// SPDX-License-Identifier: Apache-2.0
// Goal: the end of a container is found wherever it lies in a block and however its bytes are shown. Method: random
// containers of structure alone, against a byte loop; runs of backslashes around the edges of blocks.
#include "formats/json_array/container_scan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace millrace::json_array {
namespace {

/// Bytes up to and with the closing bracket; npos when it does not come. A backslash counts in strings only.
std::size_t end_by_byte_loop(const std::string& bytes) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char byte = bytes[i];
    if (in_string) {
      if (byte == '\\') ++i;
      if (byte == '"') in_string = false;
      continue;
    }
    if (byte == '"') in_string = true;
    if (byte == '{' || byte == '[') ++depth;
    if ((byte == '}' || byte == ']') && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

/// The pieces, each in a heap block with exactly the promised room behind it, full of what must not be seen.
std::size_t end_in_pieces(const std::string& bytes, const std::vector<std::size_t>& cuts) {
  ContainerScan scan;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i == cuts.size() ? bytes.size() : cuts[i];
    const std::size_t size = end - begin;
    const auto block = std::make_unique<char[]>(size + 63);
    std::fill_n(block.get(), size + 63, '}');
    bytes.copy(block.get(), size, begin);
    const std::size_t taken = scan.scan(block.get(), size);
    if (scan.closed()) return begin + taken;
    EXPECT_EQ(taken, size);
    begin = end;
  }
  return std::string::npos;
}

TEST(ContainerScan, FindsTheEndThatAByteLoopFinds) {
  EXPECT_TRUE(rc::check("any structure in any pieces", [] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "{", "{", "{", "}", "}", "[", "]", "a", ":1,", "\"\"", "\"}\"", "\"\\\"}\"", "\"{\\\\\"", "\"\\\\\\\"]\"",
        "\"" + std::string(61, 'x') + "\"", "\"" + std::string(40, '\\') + "\"", "\x5B", "\x1B", "\xDD", "=", ";"));
    std::string bytes = "{";
    for (const auto& part : parts) bytes += part;
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    RC_ASSERT(end_in_pieces(bytes, cuts) == end_by_byte_loop(bytes));
  }));
}

TEST(ContainerScan, RunsOfBackslashesAcrossTheEdgesOfBlocksAndPieces) {
  for (std::size_t before = 50; before < 70; ++before) {
    for (std::size_t run = 0; run < 140; run += run < 8 ? 1 : 13) {
      const std::string bytes = "{\"" + std::string(before, 'x') + std::string(run, '\\') + "\"}\"}";
      // An even run leaves the quote alone, an odd one escapes it, and the string ends at the next.
      const std::size_t end = before + run + (run % 2 == 0 ? 4 : 6);
      EXPECT_EQ(end_in_pieces(bytes, {}), end) << before << " " << run;
      for (const std::size_t cut : {before, before + 1, before + 2, before + run + 1, before + run + 2}) {
        EXPECT_EQ(end_in_pieces(bytes, {cut}), end) << before << " " << run << " " << cut;
      }
    }
  }
}

TEST(ContainerScan, ADeepContainerAndALongOne) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(end_in_pieces(deep + "]", {7, 1000}), deep.size());
  const std::string large = "{\"k\":\"" + std::string(1U << 20U, ']') + "\"}";
  EXPECT_EQ(end_in_pieces(large + "}", {100'000}), large.size());
}

}  // namespace
}  // namespace millrace::json_array
