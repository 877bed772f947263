// SPDX-License-Identifier: Apache-2.0
#include "store/s3/process_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "millrace/base/sync.h"
#include "store/s3/credential_json.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared by every libc

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestOutput = 64U << 10U;
constexpr Duration kLongestRun = std::chrono::seconds(60);  // some ask a person

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
    }
  }
  ~Pipe() {
    close_write();
    if (read >= 0) ::close(read);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

std::unexpected<Error> refuse(std::string why) { return fail(Error::fatal(ErrorCode::credentials, std::move(why))); }

// In a process group of its own, so that its children end with it, and with the signals as a program expects them.
int start(const std::string& command, const Pipe& output, const Pipe& errors, pid_t& child) {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, number);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  std::string text = command;
  std::array<char*, 4> arguments = {shell.data(), flag.data(), text.data(), nullptr};
  const int error = ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// True while the pipe is open. What is beyond the limit is read and dropped.
bool take(int pipe, std::string& into) {
  std::array<char, 4096> buffer{};
  const auto count = ::read(pipe, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR;
  if (into.size() < kLongestOutput) into.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

struct Output {
  std::string text;
  std::size_t error_bytes = 0;
  int status = 0;
  bool too_long = false;
};

Result<Output> run(const std::string& command) {
  Pipe output;
  Pipe errors;
  pid_t child = 0;
  if (output.read < 0 || errors.read < 0) return refuse(fmt::format("no pipe for it: {}", std::strerror(errno)));
  if (const int error = start(command, output, errors, child); error != 0) {
    return refuse(fmt::format("/bin/sh could not be started: {}", std::strerror(error)));
  }
  output.close_write();
  errors.close_write();
  Output said;
  std::string errors_text;
  const SteadyTime deadline = Clock::real().now() + kLongestRun;
  std::array<pollfd, 2> pipes = {pollfd{output.read, POLLIN, 0}, pollfd{errors.read, POLLIN, 0}};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::real().now()).count();
    if (left <= 0) {
      said.too_long = true;
      break;
    }
    if (::poll(pipes.data(), pipes.size(), static_cast<int>(left)) <= 0) continue;
    if (pipes[0].revents != 0 && !take(pipes[0].fd, said.text)) pipes[0].fd = -1;
    if (pipes[1].revents != 0 && !take(pipes[1].fd, errors_text)) pipes[1].fd = -1;
    said.error_bytes += std::exchange(errors_text, {}).size();
  }
  if (said.too_long) ::kill(-child, SIGKILL);
  while (::waitpid(child, &said.status, 0) < 0 && errno == EINTR) {
  }
  return said;
}

Result<Credentials> keys_of(const std::string& command, const std::string& provider) {
  MILLRACE_ASSIGN(const Output said, run(command));
  if (said.too_long) {
    return refuse(fmt::format("credential_process has not ended within {} s", kLongestRun / std::chrono::seconds(1)));
  }
  if (!WIFEXITED(said.status) || WEXITSTATUS(said.status) != 0) {
    // What it said is not repeated: it has the keys, and in trouble programs print what they have.
    return refuse(fmt::format("credential_process ended with {}{}",
                              WIFEXITED(said.status) ? fmt::format("exit code {}", WEXITSTATUS(said.status))
                                                     : fmt::format("signal {}", WTERMSIG(said.status)),
                              said.error_bytes == 0
                                  ? ""
                                  : fmt::format("; the {} bytes it wrote to standard error are not shown here, as they "
                                                "may hold keys: run it by hand to read them",
                                                said.error_bytes)));
  }
  const auto document = CredentialJson::parse(said.text);
  if (!document) return refuse("credential_process printed no JSON object");
  if (document->number("Version") != 1.0) return refuse("credential_process printed another Version than 1");
  Credentials found;
  found.access_key_id = document->text("AccessKeyId");
  found.secret_access_key = document->text("SecretAccessKey");
  found.session_token = document->text("SessionToken");
  if (found.access_key_id.empty() || found.secret_access_key.empty()) {
    return refuse("credential_process printed no AccessKeyId or no SecretAccessKey");
  }
  if (const std::string expires = document->text("Expiration"); !expires.empty()) {
    const auto parsed = credential_time(expires);
    if (!parsed) return refuse("credential_process printed an Expiration that is no time (2026-01-31T12:00:00Z)");
    found.expires = *parsed;
  }
  found.provider = provider;
  return found;
}

class ProcessSource final : public CredentialSource {
 public:
  ProcessSource(std::string command, std::string provider)
      : command_(std::move(command)), provider_(std::move(provider)) {}
  // The thread owns all it uses, and ends by itself within a minute.
  void fetch(Done done) override {
    auto held = std::make_shared<Done>(std::move(done));
    Thread("s3-credentials", [command = command_, provider = provider_, held] {
      (*held)(keys_of(command, provider));
    }).detach();
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override { return provider_; }

 private:
  const std::string command_;
  const std::string provider_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_process_source(std::string command, std::string provider) {
  return std::make_shared<ProcessSource>(std::move(command), std::move(provider));
}

}  // namespace millrace::s3
