// SPDX-License-Identifier: Apache-2.0
#include "store/s3/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "millrace/base/printable.h"
#include "store/s3/uri_encoding.h"

namespace millrace::s3 {

namespace {

struct Parts {
  std::string scheme;
  std::string name;  // host without brackets or port
  std::string host;  // as it goes into the Host header
  std::string base;
};

bool is_ip(const std::string& name) {
  std::array<unsigned char, 16> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

bool is_loopback(const std::string& name) {
  return name == "localhost" || name == "::1" || (name.starts_with("127.") && is_ip(name));
}

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// Sent and signed as it stands, so only what needs no encoding is taken.
bool plain_path(std::string_view path) {
  return std::ranges::all_of(path, [](char c) { return host_character(c) || c == '~' || c == '/'; });
}

Result<Parts> parse(std::string_view endpoint) {
  const auto bad = [&](std::string_view why) {
    return fail(Error::config(fmt::format("store.endpoint {}: {}", printable(endpoint), why)));
  };
  Parts parts;
  if (endpoint.find('@') != endpoint.npos) {
    return fail(Error::config("store.endpoint: user information in an endpoint is refused; give the keys as options"));
  }
  const auto scheme_end = endpoint.find("://");
  if (scheme_end == endpoint.npos) return bad("begin with https:// or http://");
  parts.scheme = endpoint.substr(0, scheme_end);
  if (parts.scheme != "https" && parts.scheme != "http") return bad("the scheme is https or http");
  std::string_view rest = endpoint.substr(scheme_end + 3);
  if (rest.find_first_of("?#") != rest.npos) return bad("an endpoint has no query");
  const auto slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == rest.npos ? std::string_view{} : rest.substr(slash);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.find("//") != path.npos || path.ends_with('/')) return bad("the path has an empty segment ('//')");
  if (!plain_path(path)) return bad("the path may hold letters, digits, and -._~/ only");
  parts.base = path;

  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == authority.npos) return bad("'[' without ']'");
    parts.name = authority.substr(1, close - 1);
    if (!is_ip(parts.name)) return bad("no IPv6 address between the brackets");
    port = authority.substr(close + 1);
  } else {
    const auto colon = authority.find(':');
    parts.name = authority.substr(0, colon);
    port = colon == authority.npos ? std::string_view{} : authority.substr(colon);
    if (parts.name.empty() || !std::ranges::all_of(parts.name, host_character)) return bad("no host name");
  }
  parts.host = authority;
  if (!port.empty()) {
    port.remove_prefix(1);
    unsigned number = 0;
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || number == 0 || number > 65535) {
      return bad("the port is a number from 1 to 65535");
    }
    // HTTP clients leave the default port out of the Host header.
    if ((parts.scheme == "https" && number == 443) || (parts.scheme == "http" && number == 80)) {
      parts.host.resize(authority.size() - port.size() - 1);
    }
  }
  return parts;
}

// Names like My_Bucket exist on other stores; they are no host names.
bool host_label(std::string_view bucket) {
  return std::ranges::all_of(bucket,
                             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string aws_host(std::string_view region) {
  return fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

}  // namespace

Result<Endpoint> Endpoint::make(const EndpointOptions& options) {
  Endpoint endpoint;
  endpoint.bucket_ = options.bucket;
  endpoint.aws_ = options.endpoint.empty();
  std::string name;
  if (endpoint.aws_) {
    endpoint.scheme_ = "https";
    name = aws_host(options.region);
    endpoint.host_ = name;
  } else {
    MILLRACE_ASSIGN(Parts parts, parse(options.endpoint));
    name = std::move(parts.name);
    endpoint.scheme_ = std::move(parts.scheme);
    endpoint.host_ = std::move(parts.host);
    endpoint.base_ = std::move(parts.base);
  }
  endpoint.loopback_ = is_loopback(name);
  if (endpoint.scheme_ == "http" && !endpoint.loopback_ && !options.allow_http) {
    return fail(
        Error::config(fmt::format("store.endpoint {}: http:// sends data and signatures in the clear; use "
                                  "https://, or set store.allow_http: \"true\"",
                                  printable(options.endpoint))));
  }
  // A certificate for *.host does not cover a.b.host, so dotted buckets go into the path; an IP has no sub-domains.
  const bool dotted = !host_label(options.bucket);
  if (options.virtual_hosted && is_ip(name)) {
    return fail(
        Error::config(fmt::format("store.virtual_hosted_style_request: {} is an address and has no sub-domains; "
                                  "leave the option out",
                                  name)));
  }
  if (options.virtual_hosted && dotted && endpoint.scheme_ == "https") {
    return fail(
        Error::config(fmt::format("store.virtual_hosted_style_request: no certificate covers bucket '{}' as a "
                                  "host name; leave the option out",
                                  printable(options.bucket))));
  }
  endpoint.path_style_ = !options.virtual_hosted && (!endpoint.aws_ || dotted || options.path_style);
  if (!endpoint.path_style_) endpoint.host_ = options.bucket + "." + endpoint.host_;
  return endpoint;
}

std::string Endpoint::target(std::string_view key, std::string_view query) const {
  std::string target = base_ + "/";
  if (path_style_) {
    target += encode_path(bucket_);
    if (!key.empty()) target += '/';
  }
  target += encode_path(key);
  if (!query.empty()) target.append("?").append(query);
  return target;
}

std::string Endpoint::url(std::string_view target) const {
  std::string url;
  url.reserve(scheme_.size() + 3 + host_.size() + target.size());
  url.append(scheme_).append("://").append(host_).append(target);
  return url;
}

Endpoint Endpoint::in_region(std::string_view region) const {
  Endpoint moved = *this;
  if (aws_) moved.host_ = path_style_ ? aws_host(region) : bucket_ + "." + aws_host(region);
  return moved;
}

}  // namespace millrace::s3
