// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "connectors/iggy_client/codes.h"

namespace millrace::iggy {
namespace {

struct Meaning {
  std::uint32_t code;
  ErrorClass cls;
  ErrorCode why;
  std::string_view text;  // what it means, and what a person can do
};

constexpr auto kRetryable = ErrorClass::retryable;
constexpr auto kFatal = ErrorClass::fatal;
constexpr auto kRecord = ErrorClass::record;

constexpr std::array kMeanings{
    Meaning{3, kFatal, ErrorCode::invalid_request,
            "it does not know the command; is it a server of another protocol? Set protocol to what it speaks"},
    Meaning{4, kFatal, ErrorCode::invalid_request, "it cannot read the request; report this as a fault of Millrace"},
    Meaning{5, kFatal, ErrorCode::not_supported, "the feature is switched off there"},
    Meaning{8, kRetryable, ErrorCode::closed, "it has closed the connection"},
    Meaning{20, kRetryable, ErrorCode::not_found, "there is no such thing (any more); make it, or correct the name"},
    Meaning{30, kRetryable, ErrorCode::closed, "it has taken the client for dead, as it heard nothing for too long"},
    Meaning{40, kRetryable, ErrorCode::closed, "the session is gone"},
    Meaning{41, kFatal, ErrorCode::permission_denied, "the user may not do this; grant the right"},
    Meaning{42, kFatal, ErrorCode::credentials, "user name or password is wrong"},
    Meaning{43, kFatal, ErrorCode::credentials, "the user name is not one that it takes (3 to 50 characters)"},
    Meaning{44, kFatal, ErrorCode::credentials, "the password is not one that it takes (3 to 100 characters)"},
    Meaning{47, kFatal, ErrorCode::credentials, "the user is switched off there"},
    Meaning{53, kFatal, ErrorCode::credentials, "the token is not valid there; make a new one"},
    Meaning{54, kFatal, ErrorCode::credentials, "the token has expired; make a new one"},
    Meaning{57, kRetryable, ErrorCode::unavailable, "it could not say in time whether the change was made"},
    Meaning{58, kRetryable, ErrorCode::unavailable, "it does not take changes now; another node may lead"},
    Meaning{1009, kRetryable, ErrorCode::not_found, "there is no such stream; make it, or correct the number"},
    Meaning{1010, kRetryable, ErrorCode::not_found, "there is no such stream; make it, or correct the name"},
    Meaning{1012, kFatal, ErrorCode::already_exists, "there is such a stream already"},
    Meaning{2010, kRetryable, ErrorCode::not_found, "there is no such topic; make it, or correct the number"},
    Meaning{2011, kRetryable, ErrorCode::not_found, "there is no such topic; make it, or correct the name"},
    Meaning{2013, kFatal, ErrorCode::already_exists, "there is such a topic already"},
    Meaning{3007, kRetryable, ErrorCode::not_found, "the topic has no such partition"},
    Meaning{3021, kRetryable, ErrorCode::not_found, "no offset is stored there"},
    Meaning{3022, kRetryable, ErrorCode::fenced, "the partition is another member's"},
    Meaning{3024, kFatal, ErrorCode::limit,
            "the partition keeps offsets of as many consumers as it may; delete some, or raise the server's limit"},
    Meaning{4022, kRecord, ErrorCode::too_large, "a message is larger than it takes"},
    Meaning{4023, kFatal, ErrorCode::invalid_request, "it does not take the number of messages"},
    Meaning{4024, kRecord, ErrorCode::invalid_request, "it does not take an empty message"},
    Meaning{4025, kRecord, ErrorCode::too_large, "it does not take the length of a message"},
    Meaning{4027, kFatal, ErrorCode::corrupt, "a message's checksum does not fit its bytes"},
    Meaning{4038, kFatal, ErrorCode::invalid_request, "messages of one send are too far apart in time"},
    Meaning{4039, kFatal, ErrorCode::corrupt, "the batch's checksum does not fit its bytes"},
    Meaning{4100, kFatal, ErrorCode::drift,
            "the partition does not reach so far: messages were lost, or it was made anew"},
    Meaning{5000, kRetryable, ErrorCode::not_found, "there is no such consumer group"},
    Meaning{5003, kRetryable, ErrorCode::not_found, "there is no such consumer group"},
    Meaning{5004, kFatal, ErrorCode::already_exists, "there is such a consumer group already"},
    Meaning{5006, kRetryable, ErrorCode::fenced, "this client is no member of the group (any more)"},
    Meaning{5009, kRetryable, ErrorCode::fenced, "the partition is another member's"},
    Meaning{14000, kRetryable, ErrorCode::closed, "the connection has a session already"},
    Meaning{14001, kRetryable, ErrorCode::closed, "the session is not valid any more"},
    Meaning{14003, kFatal, ErrorCode::not_supported, "it does not speak this protocol version"},
};

const Meaning* meaning_of(std::uint32_t code) {
  const auto* const found = std::ranges::lower_bound(kMeanings, code, {}, &Meaning::code);
  return found != kMeanings.end() && found->code == code ? found : nullptr;
}

}  // namespace

bool ends_session(std::uint32_t code) noexcept {
  constexpr std::array kEnds{8U, 30U, 40U, 14000U, 14001U};
  return std::ranges::find(kEnds, code) != kEnds.end();
}

Error refused(std::uint32_t code, std::string_view doing) {
  const Meaning* const meaning = meaning_of(code);
  if (meaning == nullptr) {
    return Error::fatal(
        ErrorCode::bad_response,
        fmt::format("{}: the server refuses with code {}, which is not known here; its log may say why", doing, code));
  }
  return {meaning->cls, meaning->why,
          fmt::format("{}: the server refuses with code {}: {}", doing, code, meaning->text)};
}

Error login_refused(std::uint32_t code, std::string_view doing) {
  // A server of 0.8 that does not know a token says so.
  return refused(code == kNotFound ? 53 : code, doing);
}

std::uint32_t code_of(const Eviction& eviction) noexcept {
  switch (eviction.reason) {
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
      return 3;
    case 9:
      return 42;
    case 10:
      return 53;
    case 13:
      return 30;
    case 14:
      return kIncompatible;
    case 15:
      return 4;
    default:
      return 40;
  }
}

Error evicted(const Eviction& eviction, ProtocolVersion announced, std::string_view doing) {
  if (eviction.reason == 14) {
    return Error::fatal(
        ErrorCode::not_supported,
        fmt::format("{}: the server takes protocol versions {} to {}, not {}; set protocol_version to "
                    "one of them, or use a server of that version",
                    doing, to_string(eviction.oldest), to_string(eviction.newest), to_string(announced)));
  }
  return refused(code_of(eviction), doing);
}

}  // namespace millrace::iggy
