// SPDX-License-Identifier: Apache-2.0
#include "store/s3/proxy_url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace millrace::s3 {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

/// Nothing when it is no url at all.
Url parsed(const std::string& url) {
  Url handle(curl_url(), &curl_url_cleanup);
  const unsigned flags = CURLU_NON_SUPPORT_SCHEME | (url.find("://") == url.npos ? CURLU_GUESS_SCHEME : 0U);
  if (handle && curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), flags) != CURLUE_OK) handle.reset();
  return handle;
}

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

std::unexpected<Error> refuse(std::string_view reason) {
  return fail(Error::config(fmt::format("store.proxy_url {}", reason)));
}

}  // namespace

Result<void> check_proxy_url(const std::string& url) {
  if (url.empty()) return {};
  if (std::ranges::any_of(url, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; })) {
    return refuse("holds a space or a control character; write it as %20 and so on");
  }
  const Url read = parsed(url);
  if (!read) {
    return refuse(
        "is no url of a proxy, for instance http://user:password@proxy.example.com:3128; in user and password write "
        "'/', '?', '#', '@' and ':' as %2F, %3F, %23, %40 and %3A");
  }
  constexpr std::string_view kSchemes[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h"};
  const std::string scheme = part(read, CURLUPART_SCHEME, CURLU_DEFAULT_SCHEME);
  if (url.find("://") != url.npos && std::ranges::find(kSchemes, scheme) == std::end(kSchemes)) {
    return refuse("must begin with one of http://, https://, socks4://, socks4a://, socks5://, socks5h://");
  }
  if (part(read, CURLUPART_HOST).empty()) return refuse("names no host");
  if (part(read, CURLUPART_PORT) == "0") return refuse("has the port 0; give the proxy's");
  const std::string path = part(read, CURLUPART_PATH);
  const bool more =
      (!path.empty() && path != "/") || !part(read, CURLUPART_QUERY).empty() || !part(read, CURLUPART_FRAGMENT).empty();
  if (more) {
    return refuse(
        "may not hold a path, a query or a fragment; in user and password write '/', '?' and '#' as %2F, %3F and %23");
  }
  return {};
}

std::vector<std::string> secrets_of_proxy(const std::string& url) {
  std::vector<std::string> secrets{url};
  if (url.empty()) return {};
  const std::size_t scheme = url.find("://");
  const std::string rest = scheme == url.npos ? url : url.substr(scheme + 3);
  secrets.push_back(rest);
  const std::size_t at = rest.rfind('@');
  if (at != rest.npos) secrets.push_back(rest.substr(0, at));
  if (const Url read = parsed(url)) {
    for (const CURLUPart which : {CURLUPART_USER, CURLUPART_PASSWORD}) {
      secrets.push_back(part(read, which));
      secrets.push_back(part(read, which, CURLU_URLDECODE));
    }
    secrets.push_back(part(read, CURLUPART_HOST));
  }
  std::erase(secrets, std::string());
  // A shorter one may be a part of a longer one, of which the rest would stay.
  std::ranges::sort(secrets, std::ranges::greater(), &std::string::size);
  return secrets;
}

}  // namespace millrace::s3
