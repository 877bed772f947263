// SPDX-License-Identifier: Apache-2.0
// For tests of the client: a fake server with a topic, and a client that has logged in to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "connectors/iggy_client/client_fixture.h"
#include "tests/iggy_rig/fake_server.h"

namespace millrace::iggy {

inline const TopicName kTopic{Identifier::name("s"), Identifier::name("t")};
inline const Identifier kGroup = Identifier::name("mill");
inline const Consumer kOne = Consumer::individual(Identifier::number(7));

struct Pair {
  explicit Pair(
      const std::string& framing, const std::function<void(ClientOptions&)>& change = [](ClientOptions&) {})
      : server(framing) {
    server.create(2, "mill");
    server.append(0, 0, 4);
    options = options_for(server.address());
    change(options);
    client = another(options);
  }
  /// One more, with other options.
  static std::unique_ptr<Client> another(ClientOptions options) {
    auto made = Client::make(std::move(options));
    EXPECT_TRUE(made);
    const auto connected = (*made)->connect(soon());
    EXPECT_TRUE(connected) << connected.error().message();
    return *std::move(made);
  }
  Result<std::size_t> poll(std::uint32_t count = 100, std::uint32_t partition = 0) {
    PolledMessages polled;
    MILLRACE_TRY(client->poll({kOne, kTopic, partition, PollFrom::offset(0), count}, polled));
    return polled.messages().size();
  }
  Result<std::vector<SendConfirmation>> send(Client& from) {
    const OutgoingMessage message{"x", {}, {}, 0};
    return from.send(kTopic, Partitioning::to(1), {&message, 1});
  }
  void fault(nlohmann::json script) { server.control({{"fault", std::move(script)}}); }
  nlohmann::json log(const nlohmann::json& where) { return server.control({{"log", {{"where", where}}}}); }
  /// Messages that the server has in partition 1, to which send() goes.
  std::size_t sent() {
    return server.control({{"partitions", {{"stream", "s"}, {"topic", "t"}}}})[1]["messages"].get<std::size_t>();
  }

  iggy_rig::FakeServer server;
  ClientOptions options;
  std::unique_ptr<Client> client;
};

inline void quick(ClientOptions& options) { options.request_timeout = std::chrono::milliseconds(300); }

}  // namespace millrace::iggy
