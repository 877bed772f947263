// SPDX-License-Identifier: Apache-2.0
// What the transport carries: a request, the head of its answer, and how it ended. Knows HTTP, not S3. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/time.h"

namespace millrace::s3 {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

enum class HttpMethod { get, head, put, remove, post };
[[nodiscard]] std::string_view to_string(HttpMethod) noexcept;

struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  std::string url;
  HeaderList headers;               ///< sent exactly; Content-Length is added for a put and a post
  std::string_view body;            ///< put, post: stays valid until the end
  std::optional<Duration> timeout;  ///< of the whole exchange
  std::size_t expected_bytes = 0;   ///< of the body, where it is known: sizes the receive buffer
  bool fresh_connection = false;    ///< takes no connection that was used before
};

struct HttpHead {
  int status = 0;
  HeaderList headers;  ///< names in lower case
  /// The first of that name; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

enum class TransportFailure {
  none,
  resolve,      ///< the host name has no address
  connect,      ///< refused or not reachable
  proxy,        ///< the proxy has no address, is not reachable, or refuses the tunnel
  handshake,    ///< of TLS; may pass
  certificate,  ///< not trusted, or for another host
  ca_bundle,    ///< the file of authorities to trust cannot be used
  connect_timeout,
  request_timeout,
  no_progress,
  broken,  ///< reset, cut, or short of what was promised
  not_http,
  stopped_by_sink,  ///< the receiver refused the answer; it knows why
  cancelled,
  other,
};

struct HttpOutcome {
  TransportFailure failure = TransportFailure::none;
  std::string detail;  ///< the transport's own words, for messages
  HttpHead head;       ///< status 0 when none came
  bool reused_connection = false;
};

/// Takes the answer as it arrives, on the loop thread.
class HttpReceiver {
 public:
  virtual ~HttpReceiver() = default;
  /// Once, before the first byte of the body (or at the end of an answer without one). False ends the transfer.
  [[nodiscard]] virtual bool on_head(const HttpHead& head) = 0;
  [[nodiscard]] virtual bool on_body(std::string_view bytes) = 0;
};

}  // namespace millrace::s3
