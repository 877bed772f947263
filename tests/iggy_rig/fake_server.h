// SPDX-License-Identifier: Apache-2.0
// FakeServer: a process of tests/iggy_fake_server, for as long as this lives. It ends with the test, whatever becomes
// of it. Belongs to the test's thread; what it is asked for may come from any.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "millrace/base/sync.h"

namespace millrace::iggy_rig {

class FakeServer {
 public:
  /// `framing`: "classic" or "vsr"; `more`: arguments of serve.py.
  explicit FakeServer(const std::string& framing, const std::vector<std::string>& more = {});
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] std::string port() const { return address_.substr(address_.rfind(':') + 1); }
  /// What the control channel answers; a refusal fails the test.
  nlohmann::json control(const nlohmann::json& command);
  /// Makes stream `s`, topic `t` and, where one is named, a group.
  void create(std::uint32_t partitions, const std::string& group = {});
  /// Payloads `{"n":first}` and so on, to one partition of s/t, in one batch.
  void append(std::uint32_t partition, int first, int count);

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int control_ = -1;
  std::string address_;
  Mutex mutex_;
};

}  // namespace millrace::iggy_rig
