// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: the built program as a child process, with its two outputs and how it ended.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace millrace::cli_test {

/// A folder of its own below the test's temporary folder; gone afterwards.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string url(const std::string& below) const { return "file://" + (path_ / below).string(); }
  /// Writes a file, folders on the way included; returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  /// Every file below `name` but those whose names begin with a dot, by path below it.
  [[nodiscard]] std::map<std::string, std::string> files(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

struct Ended {
  int code = -1;    ///< exit code; -1 when a signal ended it
  int signal = 0;   ///< that signal
  std::string out;  ///< stdout
  std::string err;  ///< stderr
};

using Environment = std::map<std::string, std::string>;

/// Descriptors that a child gets in place of /dev/null and of files.
struct Ends {
  int in = -1;
  int out = -1;
  int err = -1;
};

/// A running millrace. Destroying it kills and reaps it.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments, const Environment& more = {}, Ends ends = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const;
  /// What stderr holds so far.
  [[nodiscard]] std::string err() const;
  /// Waits for the end; fails the test when it takes longer than a generous deadline.
  [[nodiscard]] Ended wait();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
};

/// Without their line feeds.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

/// Runs to the end.
[[nodiscard]] Ended millrace(const std::vector<std::string>& arguments, const Environment& more = {});

/// Waits until `condition` holds; false when a generous deadline passes first.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

}  // namespace millrace::cli_test
