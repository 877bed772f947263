// SPDX-License-Identifier: Apache-2.0
// A folder of generated NDJSON objects and one backfill of it through the whole pipeline into a chain that counts: our
// side of the rows that begin with a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "millrace/framing/frame_reader.h"

namespace millrace::bench {

/// Objects of one folder, gone with the object. `codec`: what a program of that name made of them.
class Files {
 public:
  Files(std::uint64_t bytes, std::size_t mean_line, Codec codec = Codec::none);
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Decoded bytes of all of them.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

/// Reads all of them from the beginning; ends the program (exit 2) unless the run completes. Returns the decoded bytes.
std::uint64_t backfill(const Files& files, std::uint64_t lanes, std::string_view progress = "progress.json");

}  // namespace millrace::bench
