// SPDX-License-Identifier: Apache-2.0
// The one funnel from what S3 or the network said to an Error: its class is decided here, by S3's code before the
// status, and nowhere else. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "store/s3/http_exchange.h"

namespace millrace::s3 {

/// An answer that is not a success, taken apart.
struct S3Failure {
  int status = 0;
  std::string code;     ///< S3's, or empty when the body is no XML error
  std::string message;  ///< S3's own words
  std::string region;   ///< where the bucket is, when the answer says so
  std::string request_id;
  std::string content_type;
  std::optional<Duration> retry_after;
  std::optional<UnixMicros> date;  ///< the server's clock
};
/// `body`: the first bytes of it. `now`: our clock, for a Retry-After that is a date.
[[nodiscard]] S3Failure read_failure(const HttpHead& head, std::string_view body, UnixMicros now);

/// bad_response when a success is not S3's: a page of some gateway in between is no answer of a store. A 204 has no
/// page, and stores that answer with it do not all name the request: it is taken as it is.
[[nodiscard]] Result<void> check_origin(const HttpHead& head, std::string_view doing);

/// What may be tried once more, with something changed, before the error is given out.
enum class Remedy {
  none,
  other_region,       ///< sign for `failure.region`
  clock_offset,       ///< sign by the server's clock
  other_credentials,  ///< renew them
  fresh_connection,   ///< a kept-alive connection went stale
};
[[nodiscard]] Remedy remedy_for(const S3Failure& failure, HttpMethod method);

/// What the request was about, for messages: "reading s3://b/k (bytes 0 to 9)".
[[nodiscard]] Error error_of(const S3Failure& failure, std::string_view doing);
[[nodiscard]] Error error_of(const HttpOutcome& outcome, std::string_view doing, std::string_view endpoint);

}  // namespace millrace::s3
