// SPDX-License-Identifier: Apache-2.0
#include "store/s3/curl_transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::s3 {

namespace {

long milliseconds(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<long>(std::max<std::int64_t>(count, 1));
}

long seconds(Duration duration) {
  return static_cast<long>(std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(duration).count(), 1));
}

// How much is taken from a socket at once. Large bodies want much (half a MiB costs a fifth less CPU than 128 KiB), and
// every transfer has such a buffer of its own, so small ones get little.
long receive_buffer(std::size_t expected_bytes) {
  if (expected_bytes > (256U << 10U)) return 512L << 10;
  return expected_bytes > (32U << 10U) ? 128L << 10 : 32L << 10;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// A folded line goes on with the value before it, with one blank between.
void append_folded(std::string& value, std::string_view line) {
  if (!value.empty()) value += ' ';
  value += trimmed(line);
}

bool is_content_type(std::string_view name) {
  constexpr std::string_view kName = "content-type";
  return std::ranges::equal(name, kName, {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

}  // namespace

void prepare_curl() {
  static const bool done = [] { return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }();
  MILLRACE_CHECK(done, "libcurl could not be initialised");
}

CurlTransfer::CurlTransfer(const HttpLoopOptions& options)
    : easy_(curl_easy_init()),
      connect_timeout_(options.connect_timeout),
      proxied_(!options.proxy_url.empty() && options.proxy_excludes.empty()) {
  MILLRACE_CHECK(easy_ != nullptr, "libcurl gave no handle: out of memory");
  CURL* easy = easy_;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // `//`, `.` and `..` are parts of keys
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 100L);  // a trickle is no progress either
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, seconds(options.no_progress_timeout));
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, seconds(options.pool_idle_timeout));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_);
  if (!options.ca_bundle.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_bundle.c_str());
  if (options.accept_any_certificate) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  // Set also where they are empty: else libcurl takes http_proxy, HTTPS_PROXY, NO_PROXY and others of the environment.
  curl_easy_setopt(easy, CURLOPT_PROXY, options.proxy_url.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, options.proxy_excludes.c_str());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &CurlTransfer::on_read);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &CurlTransfer::on_seek);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, this);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
}

CurlTransfer::~CurlTransfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(static_cast<curl_slist*>(header_list_));
}

void CurlTransfer::begin(std::uint64_t id, HttpRequest request, HttpReceiver& receiver, HttpLoop::Done done) {
  CURL* easy = easy_;
  id_ = id;
  request_ = std::move(request);
  receiver_ = &receiver;
  done_ = std::move(done);
  body_sent_ = 0;
  head_ = {};
  head_told_ = false;
  refused_ = false;
  error_[0] = '\0';

  curl_slist_free_all(static_cast<curl_slist*>(header_list_));
  // Headers of libcurl's own that S3 has no use for, or that would add a round trip (Expect).
  curl_slist* list = curl_slist_append(nullptr, "Accept:");
  list = curl_slist_append(list, "Expect:");
  // libcurl calls a POST a form, and a store would keep that as the type of an object that names none.
  const bool typed =
      std::ranges::any_of(request_.headers, [](const auto& each) { return is_content_type(each.first); });
  if (request_.method == HttpMethod::post && !typed) list = curl_slist_append(list, "Content-Type:");
  std::string line;
  for (const auto& [name, value] : request_.headers) {
    // "Name;" is libcurl's way to send a header without a value.
    line.assign(name).append(value.empty() ? ";" : ": ").append(value);
    list = curl_slist_append(list, line.c_str());
  }
  header_list_ = list;

  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);  // takes back what an upload or HEAD had set
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, nullptr);
  if (request_.method == HttpMethod::head) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  if (request_.method == HttpMethod::remove) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request_.method == HttpMethod::put) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  }
  if (request_.method == HttpMethod::post) {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request_.timeout ? milliseconds(*request_.timeout) : 0L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, receive_buffer(request_.expected_bytes));
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request_.fresh_connection ? 1L : 0L);
}

std::size_t CurlTransfer::on_header(char* line, std::size_t size, std::size_t count, void* self) {
  const bool wanted = static_cast<CurlTransfer*>(self)->take_header_line({line, size * count});
  return wanted ? size * count : 0;
}

bool CurlTransfer::take_header_line(std::string_view line) {
  if (head_told_) return true;  // a trailer
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    head_ = {};
    const auto blank = line.find(' ');
    if (blank != line.npos) std::from_chars(line.data() + blank + 1, line.data() + line.size(), head_.status);
    return true;
  }
  if (line.empty()) {
    if (head_.status < 200) return true;  // "100 Continue": the answer is still to come
    head_told_ = true;
    refused_ = !receiver_->on_head(head_);
    return !refused_;
  }
  if (line.starts_with(' ') || line.starts_with('\t')) {  // the value goes on, folded as old servers do
    if (!head_.headers.empty()) append_folded(head_.headers.back().second, line);
    return true;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return true;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  head_.headers.emplace_back(std::move(name), std::string(trimmed(line.substr(colon + 1))));
  return true;
}

std::size_t CurlTransfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  if (transfer->receiver_->on_body({bytes, size * count})) return size * count;
  transfer->refused_ = true;
  return 0;
}

std::size_t CurlTransfer::on_read(char* to, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  const auto rest = transfer->request_.body.substr(transfer->body_sent_);
  const std::size_t taken = std::min(rest.size(), size * count);
  if (taken > 0) std::memcpy(to, rest.data(), taken);
  transfer->body_sent_ += taken;
  return taken;
}

int CurlTransfer::on_seek(void* self, std::int64_t offset, int origin) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > transfer->request_.body.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  transfer->body_sent_ = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

bool CurlTransfer::proxy_text() const { return std::string_view(error_).starts_with("Unsupported proxy"); }

TransportFailure CurlTransfer::failure_of(int result) const {
  if (refused_) return TransportFailure::stopped_by_sink;
  switch (static_cast<CURLcode>(result)) {
    case CURLE_OK:
      return TransportFailure::none;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return TransportFailure::proxy;
    case CURLE_COULDNT_RESOLVE_HOST:
      return TransportFailure::resolve;
    case CURLE_COULDNT_CONNECT:
      return proxied_ || proxy_text() ? TransportFailure::proxy : TransportFailure::connect;
    case CURLE_SSL_CONNECT_ERROR:
      return TransportFailure::handshake;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return TransportFailure::certificate;
    case CURLE_SSL_CACERT_BADFILE:
      return TransportFailure::ca_bundle;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_FAIL_REWIND:
      return TransportFailure::broken;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return TransportFailure::not_http;
    case CURLE_OPERATION_TIMEDOUT:
      break;
    default:
      return TransportFailure::other;
  }
  curl_off_t ready = 0;
  curl_off_t total = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &ready);
  curl_easy_getinfo(easy_, CURLINFO_TOTAL_TIME_T, &total);
  const auto timeout = request_.timeout ? std::chrono::ceil<std::chrono::milliseconds>(*request_.timeout).count() : 0;
  if (request_.timeout && total / 1000 >= timeout) return TransportFailure::request_timeout;
  if (ready == 0 && proxied_) return TransportFailure::proxy;
  return ready == 0 ? TransportFailure::connect_timeout : TransportFailure::no_progress;
}

HttpOutcome CurlTransfer::outcome(int result) {
  HttpOutcome outcome;
  outcome.failure = failure_of(result);
  if (outcome.failure == TransportFailure::none && !head_told_) outcome.failure = TransportFailure::not_http;
  if (outcome.failure != TransportFailure::none) {
    // Of a proxy libcurl quotes what it could not read, be it a password.
    const bool quotes = result == CURLE_COULDNT_RESOLVE_PROXY || proxy_text();
    outcome.detail = error_[0] != '\0' && !quotes ? error_ : curl_easy_strerror(static_cast<CURLcode>(result));
  }
  long connects = 0;
  curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &connects);
  outcome.reused_connection = connects == 0;
  outcome.head = std::move(head_);
  receiver_ = nullptr;
  return outcome;
}

}  // namespace millrace::s3
