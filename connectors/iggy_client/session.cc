// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {
namespace {

// Between two tries of a request whose outcome is open.
constexpr Duration kReplayPause = std::chrono::milliseconds(50);
// A node that takes no changes for so long is not the one to ask.
constexpr Duration kNotAcceptedFor = std::chrono::seconds(2);
// Numbers are microseconds of the wall clock: what it lags behind an earlier process's is made up for by 35 years, and
// there is room for thousands of such steps.
constexpr std::uint64_t kNumbersAhead = std::uint64_t{1} << 50U;

}  // namespace

Session::Session(Options options, std::unique_ptr<Transport> transport)
    : options_(options),
      transport_(std::move(transport)),
      reader_(options.layout->framing, options.max_reply_bytes),
      ids_{options.client, 0, options.last_request} {}

Result<Answer> Session::log_in(Request request, SteadyTime deadline) {
  if (options_.layout->framing == Framing::classic) {
    return exchange(request.classic_frame(), Operation::read, 0, deadline);
  }
  const RequestIds nobody{options_.client, 0, 0};
  return repeat(request.vsr_frame(nobody), Operation::log_in, 0, deadline);
}

Result<Answer> Session::ask(Request& request, SteadyTime deadline) {
  if (options_.layout->framing == Framing::classic) {
    return exchange(request.classic_frame(), Operation::read, 0, deadline);
  }
  const Operation operation = operation_of(request.command());
  // Reads do not use a number up.
  if (operation != Operation::read) ++ids_.request;
  return repeat(request.vsr_frame(ids_), operation, ids_.request, deadline);
}

Result<Answer> Session::repeat(std::string_view frame, Operation operation, std::uint64_t number, SteadyTime deadline) {
  const SteadyTime not_accepted_until = options_.clock->now() + kNotAcceptedFor;
  // A try may have been applied. A refused one (kNotAccepted) was not.
  bool open = false;
  for (;;) {
    MILLRACE_ASSIGN(const Answer answer, exchange(frame, operation, number, deadline));
    // A send that is taken for a repeated one is answered with a success that says nothing.
    const bool taken_for_repeated =
        answer.status == kAlreadyApplied ||
        (operation == Operation::send && answer.status == 0 && answer.payload.empty() && !answer.eviction);
    if (taken_for_repeated && open) return Answer{};
    if (taken_for_repeated) {
      ids_.request += kNumbersAhead;
      return fail(Error::retryable(
          ErrorCode::unavailable,
          fmt::format(
              "the server takes request {} for one that it has seen, as another client has this one's id or the "
              "clock went back, and has dropped it; numbers go on far above",
              number)));
    }
    open = open || answer.status == kUnavailable;
    const SteadyTime end = answer.status == kUnavailable   ? deadline
                           : answer.status == kNotAccepted ? std::min(deadline, not_accepted_until)
                                                           : SteadyTime::min();
    const SteadyTime again = options_.clock->now() + kReplayPause;
    if (again >= end) return answer;
    MILLRACE_TRY(options_.cancellation->wait_until(*options_.clock, again));
  }
}

Result<Answer> Session::exchange(std::string_view frame, Operation operation, std::uint64_t request,
                                 SteadyTime deadline) {
  MILLRACE_TRY(transport_->send(frame, deadline));
  reader_.begin();
  for (bool whole = false; !whole;) {
    MILLRACE_ASSIGN(const std::size_t got, transport_->receive(reader_.room(), deadline));
    MILLRACE_ASSIGN(whole, reader_.filled(got));
  }
  const ReplyHead& head = reader_.head();
  if (head.eviction) return Answer{code_of(*head.eviction), head.eviction, {}};
  if (options_.layout->framing == Framing::vsr && head.request != request) {
    return fail(Error::retryable(
        ErrorCode::bad_response,
        fmt::format("the server's reply is to request {}, not to {}; what follows cannot be told apart", head.request,
                    request)));
  }
  if (head.status != 0) return Answer{head.status, std::nullopt, {}};
  if (options_.layout->framing == Framing::classic) return Answer{0, std::nullopt, reader_.body()};
  // Decoded by what was asked: some replies name an operation of the server's own.
  MILLRACE_ASSIGN(const VsrPayload payload, read_vsr_results(operation, reader_.body()));
  return Answer{payload.status, std::nullopt, payload.bytes};
}

Result<Framing> probe_framing(Transport& transport, SteadyTime deadline) {
  Request ping = bare_request(Command::ping);
  ClientId somebody{};
  somebody[0] = 1;
  MILLRACE_TRY(transport.send(ping.vsr_frame({somebody, 0, 0}), deadline));
  std::array<char, kVsrHeader> header{};
  std::size_t filled = 0;
  // A classic server takes the first eight bytes for a request of no length, and refuses each eight of them.
  while (filled < header.size()) {
    MILLRACE_ASSIGN(const std::size_t got, transport.receive(std::span(header).subspan(filled), deadline));
    filled += got;
    if (filled >= kClassicHeader && load<std::uint64_t>({header.data(), header.size()}) == 3) return Framing::classic;
  }
  MILLRACE_TRY(read_vsr_header({header.data(), header.size()}, kSmallestLimit));
  return Framing::vsr;
}

}  // namespace millrace::iggy
