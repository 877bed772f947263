// SPDX-License-Identifier: Apache-2.0
// ScratchManifest: the folder of a manifest that means nothing beyond one process (LoadedConfig::scratch_manifest);
// gone with it. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace millrace::cli {

class ScratchManifest {
 public:
  /// `path`: of the manifest; empty: there is none.
  explicit ScratchManifest(std::string path) : path_(std::move(path)) {}
  ~ScratchManifest() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(std::filesystem::path(path_).parent_path(), ignored);
  }
  ScratchManifest(const ScratchManifest&) = delete;
  ScratchManifest& operator=(const ScratchManifest&) = delete;

 private:
  const std::string path_;
};

}  // namespace millrace::cli
