// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/resolver.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "millrace/base/printable.h"
#include "millrace/base/sync.h"

namespace millrace::iggy {
namespace {

// How often a wait looks whether it was cancelled; the resolver cannot be woken.
constexpr Duration kLook = std::chrono::milliseconds(50);

Resolver::Found look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  Resolver::Found found;
  found.status = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  for (const addrinfo* one = found.status == 0 ? list : nullptr; one != nullptr; one = one->ai_next) {
    SocketAddress socket_address;
    if (one->ai_addrlen > sizeof socket_address.storage) continue;
    std::memcpy(&socket_address.storage, one->ai_addr, one->ai_addrlen);
    socket_address.size = one->ai_addrlen;
    found.addresses.push_back(socket_address);
  }
  if (list != nullptr) ::freeaddrinfo(list);
  return found;
}

}  // namespace

// Outlives whoever asked, when he does not wait for the answer.
struct Resolver::Question {
  explicit Question(Address asked) : address(std::move(asked)) {}
  const Address address;
  Mutex mutex;
  CondVar answered;
  std::optional<Found> found MILLRACE_GUARDED_BY(mutex);
};

Resolver::LookUp Resolver::system_look_up() {
  return [](const Address& address) { return look_up(address, AI_NUMERICSERV); };
}

Resolver::Resolver(LookUp look_up) : look_up_(std::move(look_up)) {}
Resolver::~Resolver() = default;

std::shared_ptr<Resolver::Question> Resolver::ask(const Address& address) {
  const auto open = std::ranges::find_if(open_, [&](const auto& one) { return one->address == address; });
  if (open != open_.end()) return *open;
  open_.push_back(std::make_shared<Question>(address));
  Thread("iggy-resolve", [question = open_.back(), look_up = look_up_] {
    Found found = look_up(question->address);
    const MutexLock lock(question->mutex);
    question->found = std::move(found);
    question->answered.notify_all();
  }).detach();
  return open_.back();
}

Result<std::vector<SocketAddress>> Resolver::resolve(const Address& address, Clock& clock, SteadyTime deadline,
                                                     const Cancellation& cancellation) {
  Found numeric = look_up(address, AI_NUMERICHOST | AI_NUMERICSERV);
  if (!numeric.addresses.empty()) return std::move(numeric.addresses);
  const std::shared_ptr<Question> question = ask(address);
  Found found;
  {
    const MutexLock lock(question->mutex);
    while (!question->found && clock.now() < deadline && !cancellation.cancelled()) {
      clock.wait_until(question->answered, question->mutex, std::min(deadline, clock.now() + kLook));
    }
    if (!question->found) {
      if (cancellation.cancelled()) return fail(Cancellation::error());
      return fail(Error::retryable(ErrorCode::timeout, fmt::format("the name '{}' was not resolved in time; does the "
                                                                   "name server answer?",
                                                                   printable(address.host))));
    }
    found = *std::move(question->found);
  }
  std::erase(open_, question);
  if (found.addresses.empty()) {
    return fail(Error::retryable(
        ErrorCode::unreachable,
        fmt::format("the name '{}' has no address: {}", printable(address.host), ::gai_strerror(found.status))));
  }
  return std::move(found.addresses);
}

}  // namespace millrace::iggy
