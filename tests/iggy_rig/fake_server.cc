// SPDX-License-Identifier: Apache-2.0
#include "tests/iggy_rig/fake_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace millrace::iggy_rig {
namespace {

std::string line_of(int descriptor) {
  std::string line;
  for (char byte = 0; ::read(descriptor, &byte, 1) == 1 && byte != '\n';) line.push_back(byte);
  return line;
}

int connected_to(const std::string& address) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(descriptor, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  return descriptor;
}

}  // namespace

FakeServer::FakeServer(const std::string& framing, const std::vector<std::string>& more) {
  std::vector<std::string> words{MILLRACE_TEST_PYTHON, "-B",    MILLRACE_TEST_SOURCE "/tests/iggy_fake_server/serve.py",
                                 "--framing",          framing, "--until-eof"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  EXPECT_EQ(::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  const std::string listening = line_of(out[0]);
  const std::string control = line_of(out[0]);
  ::close(out[0]);
  EXPECT_EQ(listening.substr(0, 10), "listening ") << "the fake server did not start";
  if (control.empty()) std::abort();
  address_ = listening.substr(10);
  control_ = connected_to(control);
}

FakeServer::~FakeServer() {
  ::close(control_);
  ::close(input_);
  int status = 0;
  ::waitpid(process_, &status, 0);
}

nlohmann::json FakeServer::control(const nlohmann::json& command) {
  const std::string line = command.dump() + "\n";
  const MutexLock lock(mutex_);
  EXPECT_EQ(::send(control_, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  const std::string answer = line_of(control_);
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (json.is_discarded() || !json.contains("ok")) {
    ADD_FAILURE() << line << " is answered with: " << answer;
    return {};
  }
  return json["ok"];
}

void FakeServer::create(std::uint32_t partitions, const std::string& group) {
  nlohmann::json what{{"stream", "s"}, {"topic", "t"}, {"partitions", partitions}};
  if (!group.empty()) what["group"] = group;
  control({{"create", what}});
}

void FakeServer::append(std::uint32_t partition, int first, int count) {
  nlohmann::json messages = nlohmann::json::array();
  for (int i = first; i < first + count; ++i) {
    messages.push_back({{"payload", "{\"n\":" + std::to_string(i) + "}"}});
  }
  control({{"append", {{"stream", "s"}, {"topic", "t"}, {"partition", partition}, {"messages", messages}}}});
}

}  // namespace millrace::iggy_rig
