// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/error.h"

namespace millrace {

std::string_view to_string(ErrorClass cls) noexcept {
  switch (cls) {
    case ErrorClass::retryable:
      return "retryable";
    case ErrorClass::record:
      return "record";
    case ErrorClass::fatal:
      return "fatal";
  }
  return "unknown";
}

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::config:
      return "config";
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::precondition_failed:
      return "precondition_failed";
    case ErrorCode::permission_denied:
      return "permission_denied";
    case ErrorCode::credentials:
      return "credentials";
    case ErrorCode::unreachable:
      return "unreachable";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::throttled:
      return "throttled";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::interrupted_transfer:
      return "interrupted_transfer";
    case ErrorCode::bad_response:
      return "bad_response";
    case ErrorCode::invalid_request:
      return "invalid_request";
    case ErrorCode::not_supported:
      return "not_supported";
    case ErrorCode::out_of_space:
      return "out_of_space";
    case ErrorCode::io:
      return "io";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::malformed:
      return "malformed";
    case ErrorCode::wrong_type:
      return "wrong_type";
    case ErrorCode::missing_field:
      return "missing_field";
    case ErrorCode::unknown_field:
      return "unknown_field";
    case ErrorCode::duplicate_key:
      return "duplicate_key";
    case ErrorCode::invalid_utf8:
      return "invalid_utf8";
    case ErrorCode::drift:
      return "drift";
    case ErrorCode::fenced:
      return "fenced";
    case ErrorCode::manifest:
      return "manifest";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::user_code:
      return "user_code";
    case ErrorCode::rule_broken:
      return "rule_broken";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::deadline:
      return "deadline";
    case ErrorCode::stalled:
      return "stalled";
    case ErrorCode::not_durable:
      return "not_durable";
    case ErrorCode::unrouted:
      return "unrouted";
  }
  return "unknown";
}

Error&& Error::prefixed(std::string_view text) && {
  message_.insert(0, text);
  return std::move(*this);
}

std::string Error::describe() const {
  std::string text = message_;
  if (!context_.empty()) {
    text += " [";
    for (std::size_t i = 0; i < context_.size(); ++i) {
      if (i != 0) text += ' ';
      text += context_[i].first;
      text += '=';
      text += context_[i].second;
    }
    text += ']';
  }
  return text;
}

}  // namespace millrace
