// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/store_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "millrace/base/printable.h"
#include "store/shown_url.h"

namespace millrace {
namespace {

constexpr std::string_view kKnown = "millrace reads and writes s3://bucket/prefix and file:///absolute/path";

std::string scheme_of(std::string_view url) {
  std::string scheme(url.substr(0, url.find("://")));
  std::ranges::transform(scheme, scheme.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return scheme;
}

/// The url for a message.
std::string shown(std::string_view url) {
  const std::string scheme = scheme_of(url);
  return scheme == "s3" || scheme == "file" ? shown_key_url(url) : shown_url(url);
}

bool bucket_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

Result<StoreUrl> parse_s3(std::string_view url, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view bucket = rest.substr(0, slash);
  if (bucket.empty()) {
    return fail(Error::config(fmt::format("{}: the bucket is missing; write s3://bucket/prefix", shown(url))));
  }
  if (has_user_information(rest)) {
    return fail(Error::config(fmt::format(
        "{}: an url may not carry credentials; give them as store.access_key_id and store.secret_access_key",
        shown(url))));
  }
  if (bucket.find(':') != std::string_view::npos) {
    return fail(Error::config(fmt::format(
        "{}: '{}' is not a bucket name; a host and port belong in store.endpoint, and the url is s3://bucket/prefix",
        shown(url), printable(bucket))));
  }
  if (bucket.size() > 255 || !std::ranges::all_of(bucket, bucket_character)) {
    return fail(
        Error::config(fmt::format("{}: '{}' is not a bucket name: letters, digits, '.', '-' and '_', at most 255",
                                  shown(url), printable(bucket))));
  }
  return StoreUrl{"s3", std::string(bucket), std::string(slash < rest.size() ? rest.substr(slash + 1) : "")};
}

Result<StoreUrl> parse_file(std::string_view url, std::string_view rest) {
  if (!rest.starts_with('/')) {
    return fail(Error::config(
        fmt::format("{}: a file url is file:// and an absolute path, so three slashes: file:///data/in/", shown(url))));
  }
  if (rest.find('\0') != std::string_view::npos) {
    return fail(Error::config(fmt::format("{}: a path cannot hold a NUL byte", shown(url))));
  }
  const std::string_view key = rest.substr(1);
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view segment = key.substr(begin, end - begin);
    if (segment.empty() || segment == "." || segment == "..") {
      return fail(Error::config(fmt::format(
          "{}: a path with the segment '{}' is another name of some path without it; write that one, since keys are "
          "compared byte by byte",
          shown(url), segment)));
    }
    begin = end + 1;
  }
  return StoreUrl{"file", "", std::string(key)};
}

Error unknown_scheme(std::string_view url, std::string_view scheme) {
  if (scheme == "memory" || scheme == "mem" || scheme == "inmemory") {
    return Error::config(fmt::format(
        "{}: a store in memory would forget everything with the process; use file:///tmp/somewhere/ for a try ({})",
        shown(url), kKnown));
  }
  if (scheme == "http" || scheme == "https") {
    return Error::config(fmt::format("{}: give the bucket as s3://bucket/prefix and this server as store.endpoint ({})",
                                     shown(url), kKnown));
  }
  if (scheme == "s3a" || scheme == "s3n") {
    return Error::config(fmt::format("{}: write s3:// for {}:// ({})", shown(url), scheme, kKnown));
  }
  if (scheme == "gs" || scheme == "gcs") {
    return Error::config(fmt::format(
        "{}: Google Cloud Storage speaks S3 too: s3://bucket/prefix with store.endpoint https://storage.googleapis.com "
        "and an HMAC key ({})",
        shown(url), kKnown));
  }
  if (scheme == "r2" || scheme == "b2" || scheme == "minio" || scheme == "oss" || scheme == "cos") {
    return Error::config(fmt::format(
        "{}: use s3://bucket/prefix with the S3 endpoint of this service as store.endpoint ({})", shown(url), kKnown));
  }
  if (scheme == "az" || scheme == "azure" || scheme == "abfs" || scheme == "abfss" || scheme == "wasb" ||
      scheme == "wasbs") {
    return Error::config(
        fmt::format("{}: Azure Blob Storage has no S3 interface, and none of its own here ({})", shown(url), kKnown));
  }
  return Error::config(fmt::format("{}: '{}' is not a known scheme; {}", shown(url), printable(scheme), kKnown));
}

/// What names the local path that `text` may have meant.
std::string file_url_of(std::string_view text) {
  if (text.starts_with("file:")) text.remove_prefix(5);
  const char* home = std::getenv("HOME");
  std::filesystem::path path(text);
  if (home != nullptr && (text == "~" || text.starts_with("~/"))) {
    path = std::filesystem::path(home) / text.substr(std::min<std::size_t>(2, text.size()));
  }
  std::error_code unknown;
  std::filesystem::path absolute = std::filesystem::absolute(path, unknown).lexically_normal();
  if (unknown || text.empty()) return "file:///absolute/path";
  // A folder's prefix ends in a slash, or it takes in what only begins like it.
  if (absolute.has_filename() && std::filesystem::is_directory(absolute, unknown)) absolute /= "";
  return "file://" + absolute.string();
}

}  // namespace

Result<StoreUrl> StoreUrl::parse(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) {
    if (has_user_information(url)) {
      return fail(Error::config(fmt::format("'{}' is not a URL: {}", shown_key_url(url), kKnown)));
    }
    // A query may be a signature.
    const std::string_view path = url.substr(0, url.find('?'));
    return fail(
        Error::config(fmt::format("'{}{}' is not a URL: {}; the local path is written {}", printable(path),
                                  path.size() == url.size() ? "" : "?***", kKnown, printable(file_url_of(path)))));
  }
  const std::string scheme = scheme_of(url);
  const std::string_view rest = url.substr(end + 3);
  if (scheme == "s3") return parse_s3(url, rest);
  if (scheme == "file") return parse_file(url, rest);
  return fail(unknown_scheme(url, scheme));
}

std::string StoreUrl::to_string() const { return fmt::format("{}://{}/{}", scheme, bucket, key); }

}  // namespace millrace
