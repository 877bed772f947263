// SPDX-License-Identifier: Apache-2.0
// Endpoint: where a bucket's requests go, and how key and query become the request line. A value; immutable but for the
// region.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::s3 {

struct EndpointOptions {
  std::string bucket;
  std::string region;           ///< picks AWS's host when no endpoint is given
  std::string endpoint;         ///< "https://host[:port][/path]"; empty: AWS
  bool allow_http = false;      ///< http:// beyond this machine
  bool virtual_hosted = false;  ///< bucket in the host name although an endpoint is given
  bool path_style = false;      ///< bucket in the path although none is given
};

class Endpoint {
 public:
  /// Refuses (config) endpoints that cannot be joined with a key without guessing: another scheme, user information, a
  /// query, an empty path segment (`//`), http:// to another machine.
  [[nodiscard]] static Result<Endpoint> make(const EndpointOptions& options);

  /// What goes into the Host header, and is signed: no default port.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// Path and query of a request for `key` (empty: the bucket), encoded. `query` is encoded already.
  [[nodiscard]] std::string target(std::string_view key, std::string_view query) const;
  /// scheme://host + target
  [[nodiscard]] std::string url(std::string_view target) const;
  /// For messages.
  [[nodiscard]] std::string to_string() const { return scheme_ + "://" + host_ + base_; }
  /// Host, port and path without the bucket (of path-style requests).
  [[nodiscard]] std::string server() const { return host_ + base_; }
  [[nodiscard]] bool loopback() const { return loopback_; }
  [[nodiscard]] bool path_style() const { return path_style_; }
  /// The same bucket in another region. Only AWS's own hosts carry the region; given ones stay.
  [[nodiscard]] Endpoint in_region(std::string_view region) const;

 private:
  std::string bucket_;
  std::string scheme_;
  std::string host_;
  std::string base_;  // path in front of bucket and key, without a slash at its end
  bool path_style_ = false;
  bool aws_ = false;
  bool loopback_ = false;
};

}  // namespace millrace::s3
