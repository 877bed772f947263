// SPDX-License-Identifier: Apache-2.0
// Goal: every wait on the way to a session ends: for a name, for an address, for whatever a server should say. Method:
// look-ups that hang until they are let go, addresses where nobody answers, servers that are silent.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>

#include "connectors/iggy_client/client_fixture.h"
#include "connectors/iggy_client/resolver.h"
#include "connectors/iggy_client/socket.h"
#include "millrace/base/sync.h"

namespace millrace::iggy {
namespace {

using std::chrono::milliseconds;

// Listens on loopback and says nothing.
class Listener {
 public:
  explicit Listener(int backlog = 16) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
    EXPECT_EQ(::listen(descriptor_, backlog), 0);
    address_.size = sizeof(sockaddr_in);
    EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address_.storage), &address_.size), 0);
  }
  ~Listener() {
    for (const int one : fill_) ::close(one);
    ::close(descriptor_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// From here on nobody gets through: what may wait to be accepted is full.
  void fill() {
    for (int i = 0; i < 8; ++i) {
      fill_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      static_cast<void>(::connect(fill_.back(), reinterpret_cast<const sockaddr*>(&address_.storage), address_.size));
    }
  }
  /// Waits until somebody has connected.
  void accept() { fill_.push_back(::accept(descriptor_, nullptr, nullptr)); }
  [[nodiscard]] const SocketAddress& socket_address() const { return address_; }
  [[nodiscard]] std::string address() const {
    sockaddr_in there{};
    std::memcpy(&there, &address_.storage, sizeof there);
    return "127.0.0.1:" + std::to_string(ntohs(there.sin_port));
  }

 private:
  const int descriptor_;
  SocketAddress address_;
  std::vector<int> fill_;
};

SteadyTime after(Duration wait) { return Clock::real().now() + wait; }

struct Gate {
  Mutex mutex;
  CondVar changed;
  bool open MILLRACE_GUARDED_BY(mutex) = false;
  int asked MILLRACE_GUARDED_BY(mutex) = 0;
};

TEST(Names, ANameThatHangsIsAskedForOnce) {
  const auto gate = std::make_shared<Gate>();
  const Listener listener;
  const auto cancellation = *Cancellation::make();
  Resolver resolver([gate, found = listener.socket_address()](const Address&) {
    const MutexLock lock(gate->mutex);
    ++gate->asked;
    while (!gate->open) gate->changed.wait(gate->mutex);
    return Resolver::Found{0, {found}};
  });
  const Address address{"hangs.test", 8090};
  for (int i = 0; i < 3; ++i) {
    const auto found = resolver.resolve(address, Clock::real(), after(milliseconds(60)), *cancellation);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ErrorCode::timeout);
  }
  {
    const MutexLock lock(gate->mutex);
    gate->open = true;
    gate->changed.notify_all();
  }
  const auto found = resolver.resolve(address, Clock::real(), soon(), *cancellation);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1U);
  EXPECT_TRUE(resolver.resolve(address, Clock::real(), soon(), *cancellation)) << "and asked anew once answered";
  const MutexLock lock(gate->mutex);
  EXPECT_EQ(gate->asked, 2);
}

TEST(Addresses, OneThatDoesNotAnswerLeavesTimeForTheNext) {
  Listener full(0);
  full.fill();
  const Listener open;
  const auto cancellation = *Cancellation::make();
  const SocketAddress addresses[] = {full.socket_address(), open.socket_address()};
  const auto made = Socket::connect(addresses, Clock::real(), after(milliseconds(1000)), *cancellation);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->peer().to_string(), open.address());
  const auto none = Socket::connect({addresses, 1}, Clock::real(), after(milliseconds(50)), *cancellation);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::timeout);
}

TEST(SilentServers, EndATryWithTheDeadline) {
  const Listener silent;
  for (const bool tls : {false, true}) {
    for (const ProtocolChoice protocol : {ProtocolChoice::auto_detect, ProtocolChoice::classic, ProtocolChoice::vsr}) {
      ClientOptions options = options_for(silent.address());
      options.protocol = protocol;
      options.tls.enabled = tls;
      options.tls.verify = false;
      const auto client = *Client::make(options);
      const auto done = client->connect(after(milliseconds(60)));
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), ErrorCode::timeout) << done.error().message();
    }
  }
}

TEST(SilentServers, CancelEndsATry) {
  Listener silent;
  const auto client = *Client::make(options_for(silent.address()));
  std::optional<ErrorCode> code;
  {
    Thread connecting("connect", [&] { code = client->connect(soon()).error().code(); });
    silent.accept();
    client->cancel();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace millrace::iggy
