// SPDX-License-Identifier: Apache-2.0
// Compressed bytes made by the programs of each codec, for tests: never by the code under test.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "millrace/codec/decompressor.h"

namespace millrace::s3_source {

/// What `command` (a shell command that reads stdin and writes stdout) makes of `bytes`.
inline std::string output_of(const std::string& command, const std::string& bytes) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  std::ofstream(folder / "in", std::ios::binary) << bytes;
  const std::string line = "{ " + command + "; } < " + (folder / "in").string() + " > " + (folder / "out").string();
  EXPECT_EQ(std::system(line.c_str()), 0) << line;
  std::ifstream out(folder / "out", std::ios::binary);
  std::string made{std::istreambuf_iterator<char>(out), {}};
  std::filesystem::remove_all(folder);
  return made;
}

/// A codec, what its objects are called, the program that makes them and their Content-Encoding.
struct Compressor {
  Codec codec;
  std::string ending;
  std::string command;
  std::string token;
  [[nodiscard]] std::string of(const std::string& bytes) const { return output_of(command, bytes); }
};
/// Of every codec that is built.
inline std::vector<Compressor> compressors() {
  std::vector<Compressor> all{{Codec::gzip, ".gz", "gzip -n -c", "gzip"},
                              {Codec::zstd, ".zst", "zstd -q -c", "zstd"},
                              {Codec::bz2, ".bz2", "bzip2 -c", "bzip2"},
                              {Codec::xz, ".xz", "xz -c", "xz"},
                              {Codec::lz4, ".lz4", "lz4 -q -c", "lz4"}};
  std::erase_if(all, [](const Compressor& one) { return !codec_is_built(one.codec); });
  return all;
}

inline std::string gzip_of(const std::string& bytes) { return output_of("gzip -n -c", bytes); }
inline std::string zstd_of(const std::string& bytes) { return output_of("zstd -q -c", bytes); }

}  // namespace millrace::s3_source
