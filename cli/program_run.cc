// SPDX-License-Identifier: Apache-2.0
#include "cli/program_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

namespace millrace::cli_test {
namespace {

constexpr std::chrono::seconds kDeadline{60};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Lets another process run.
void give_way() { ::poll(nullptr, 0, 5); }

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::path(testing::TempDir()) / "millrace-cli-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::map<std::string, std::string> ScratchFolder::files(const std::string& name) const {
  std::map<std::string, std::string> found;
  if (!std::filesystem::exists(path_ / name)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ / name)) {
    if (!entry.is_regular_file() || entry.path().filename().string().starts_with('.')) continue;
    found[std::filesystem::relative(entry.path(), path_ / name).string()] = read_file(entry.path());
  }
  return found;
}

Child::Child(const std::vector<std::string>& arguments, const Environment& more, Ends ends) {
  std::vector<std::string> words{MILLRACE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  Environment variables{{"PATH", "/usr/bin:/bin"}, {"TMPDIR", folder_.path().string()}};
  for (const auto& [name, value] : more) variables[name] = value;
  std::vector<std::string> settings;
  settings.reserve(variables.size());
  for (const auto& [name, value] : variables) settings.emplace_back(name).append("=").append(value);
  std::vector<char*> environment;
  environment.reserve(settings.size() + 1);
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const auto give = [&](int descriptor, int end, const std::filesystem::path& otherwise, int flags) {
    if (end >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, end, descriptor);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, descriptor, otherwise.c_str(), flags, 0600);
    }
  };
  give(0, ends.in, "/dev/null", O_RDONLY);
  give(1, ends.out, folder_.path() / "out", O_WRONLY | O_CREAT | O_APPEND);
  give(2, ends.err, folder_.path() / "err", O_WRONLY | O_CREAT | O_APPEND);
  EXPECT_EQ(::posix_spawn(&pid_, MILLRACE_PROGRAM, &actions, nullptr, argv.data(), environment.data()), 0);
  ::posix_spawn_file_actions_destroy(&actions);
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

std::string Child::err() const { return read_file(folder_.path() / "err"); }

Ended Child::wait() {
  Ended ended;
  int status = 0;
  const bool in_time = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  ended.out = read_file(folder_.path() / "out");
  ended.err = err();
  if (!in_time) {
    ADD_FAILURE() << "millrace did not end in time; it said:\n" << ended.err;
    return ended;
  }
  pid_ = -1;
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

Ended millrace(const std::vector<std::string>& arguments, const Environment& more) {
  Child child(arguments, more);
  return child.wait();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return condition();
    give_way();
  }
  return true;
}

}  // namespace millrace::cli_test
