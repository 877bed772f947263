// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/fault_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "tests/s3_fault_server/s3_answers.h"
#include "tests/s3_fault_server/sigv4_check.h"
#include "tests/s3_fault_server/upload_answers.h"
#include "tests/s3_fault_server/uri.h"

namespace millrace::testing {

namespace {

std::string_view operation_of(const LoggedRequest& request, std::string_view query) {
  const std::string& method = request.http.method;
  if (request.bucket.empty() || request.http.has_header("x-amz-copy-source")) return "Other";
  if (const auto upload = upload_operation(request); !upload.empty()) return upload;
  if (request.key.empty())
    return method == "GET" && query.find("list-type=2") != query.npos ? "ListObjectsV2" : "Other";
  if (method == "GET") return query.empty() ? "GetObject" : "Other";
  if (method == "PUT") return query.empty() ? "PutObject" : "Other";
  if (method == "HEAD") return "HeadObject";
  if (method == "DELETE") return query.empty() ? "DeleteObject" : "Other";
  return "Other";
}

bool in_parts(std::string_view operation) {
  return operation == "UploadPart" || operation.find("MultipartUpload") != operation.npos;
}

// Takes the request line apart the way S3 does. Nothing when it is not strictly encoded or outside the base path.
std::optional<LoggedRequest> take_apart(const HttpRequest& http, const FaultServerOptions& options) {
  LoggedRequest request;
  request.http = http;
  std::string_view target = http.target;
  const auto question = target.find('?');
  const std::string_view query = question == target.npos ? std::string_view{} : target.substr(question + 1);
  std::string_view path = target.substr(0, question);
  if (!path.starts_with('/') || !strictly_encoded(path, "/") || !strictly_encoded(query, "=&")) return std::nullopt;
  if (!path.starts_with(options.base_path)) return std::nullopt;
  path.remove_prefix(options.base_path.size());
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  std::string_view host = http.header("host");
  host = host.substr(0, host.find(':'));
  if (const std::string suffix = "." + options.virtual_host; !options.virtual_host.empty() && host.ends_with(suffix)) {
    request.bucket = host.substr(0, host.size() - suffix.size());
  } else {
    const auto slash = path.find('/');
    request.bucket = percent_decode(path.substr(0, slash)).value_or("");
    path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
  }
  auto key = percent_decode(path);
  auto pairs = parse_query(query);
  if (!key || !pairs) return std::nullopt;
  request.key = std::move(*key);
  request.query = std::move(*pairs);
  request.operation = operation_of(request, query);
  if (request.operation == "ListObjectsV2" || request.operation == "ListMultipartUploads") {
    request.key = request.query_value("prefix");
  }
  return request;
}

}  // namespace

std::string_view LoggedRequest::query_value(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? std::string_view{} : std::string_view(found->second);
}

Result<std::unique_ptr<FaultServer>> FaultServer::start(FaultServerOptions options) {
  std::unique_ptr<FaultServer> server(new FaultServer(std::move(options)));
  FaultServer* raw = server.get();
  MILLRACE_ASSIGN(server->listener_,
                  HttpListener::start({.port = raw->options_.port, .idle_timeout = raw->options_.idle_timeout},
                                      [raw](const HttpRequest& request) { return raw->answer(request); }));
  return server;
}

FaultServer::FaultServer(FaultServerOptions options)
    : options_(std::move(options)),
      uploads_(options_.parts),
      latency_(options_.latency),
      clock_ahead_(options_.clock_ahead) {
  credentials_.push_back({options_.access_key, options_.secret_key, options_.session_token, "", {}});
}

FaultServer::~FaultServer() = default;

std::string FaultServer::endpoint() const { return listener_->endpoint() + options_.base_path; }
std::uint16_t FaultServer::port() const { return listener_->port(); }

void FaultServer::put_object(std::string_view bucket, std::string_view key, std::string bytes,
                             StoredObject attributes) {
  objects_.create_bucket(bucket);
  attributes.bytes = std::make_shared<const std::string>(std::move(bytes));
  (void)objects_.put(bucket, key, std::move(attributes));
}

void FaultServer::add_fault(std::string_view line) {
  auto fault = ServerFault::parse(line);
  if (!fault) {
    std::fprintf(stderr, "%s\n", fault.error().message().c_str());
    std::abort();
  }
  script_.add(std::move(*fault));
}

Result<void> FaultServer::load_case(std::string_view name) {
  const std::string path = fmt::format("{}/{}.fault", MILLRACE_FAULT_CASES, name);
  std::ifstream file(path);
  if (!file) return fail(Error::config(fmt::format("{} cannot be read", path)));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    MILLRACE_ASSIGN(ServerFault fault, ServerFault::parse(line));
    script_.add(std::move(fault));
  }
  return {};
}

void FaultServer::rotate_credentials(std::string access_key, std::string secret_key, std::string session_token,
                                     std::string old_code) {
  const MutexLock lock(mutex_);
  for (Credentials& old : credentials_) old.refused_with = old_code;
  credentials_.push_back({std::move(access_key), std::move(secret_key), std::move(session_token), "", {}});
}

void FaultServer::accept_credentials(std::string access_key, std::string secret_key, std::string session_token,
                                     UnixMicros expires) {
  const MutexLock lock(mutex_);
  const CredentialUse use{access_key, now_locked(), expires};
  credentials_.push_back({std::move(access_key), std::move(secret_key), std::move(session_token), "", use});
}

std::vector<FaultServer::CredentialUse> FaultServer::credential_uses() const {
  std::vector<CredentialUse> uses;
  const MutexLock lock(mutex_);
  for (const Credentials& one : credentials_) {
    if (one.use) uses.push_back(*one.use);
  }
  return uses;
}

void FaultServer::set_latency(Duration latency) {
  const MutexLock lock(mutex_);
  latency_ = latency;
}

void FaultServer::set_clock_ahead(Duration ahead) {
  const MutexLock lock(mutex_);
  clock_ahead_ = ahead;
}

UnixMicros FaultServer::now() const {
  const MutexLock lock(mutex_);
  return now_locked();
}

UnixMicros FaultServer::now_locked() const { return Clock::real().unix_micros() + clock_ahead_.count() / 1000; }

std::vector<LoggedRequest> FaultServer::requests() const {
  const MutexLock lock(mutex_);
  return log_;
}

std::vector<LoggedRequest> FaultServer::requests(std::string_view operation, std::string_view key) const {
  auto all = requests();
  std::erase_if(all, [&](const LoggedRequest& request) {
    return request.operation != operation || (!key.empty() && request.key != key);
  });
  return all;
}

std::size_t FaultServer::count(std::string_view operation, std::string_view key) const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(log_, [&](const LoggedRequest& request) {
    return request.operation == operation && (key.empty() || request.key == key);
  }));
}

void FaultServer::clear_log() {
  const MutexLock lock(mutex_);
  cleared_ += log_.size();
  log_.clear();
}

bool FaultServer::wait_for(std::string_view operation, std::size_t count, Duration timeout) {
  const auto deadline = Clock::real().now() + timeout;
  const MutexLock lock(mutex_);
  while (static_cast<std::size_t>(std::ranges::count(log_, operation, &LoggedRequest::operation)) < count) {
    if (Clock::real().now() >= deadline) return false;
    Clock::real().wait_until(logged_, mutex_, deadline);
  }
  return true;
}

HttpAnswer FaultServer::answer(const HttpRequest& http) {
  auto request = take_apart(http, options_);
  HttpAnswer answer;
  if (!request) {
    request.emplace();
    request->operation = "Other";
    request->http = http;
    answer = error_answer(400, "InvalidURI", "The request line is not strictly encoded, or outside the base path");
  } else if (auto refusal = refuse(*request)) {
    answer = std::move(*refusal);
  } else {
    const auto due = script_.take(request->operation, request->key);
    const ServerFault fault = due.value_or(ServerFault{});
    request->faulted = due.has_value();
    if (fault.status == 0 || fault.error_after_success) {
      answer = in_parts(request->operation) ? serve_upload(*request, objects_, uploads_, options_.page_size, fault)
                                            : serve(*request, objects_, options_.page_size, fault);
    }
    if (fault.status != 0) {
      answer = error_answer(fault.status, fault.code, "as the script says");
      if (fault.body) answer.set_body(*fault.body);
    } else if (fault.body) {
      answer.set_body(*fault.body);
    }
    if (!fault.content_type.empty()) answer.set_header("Content-Type", fault.content_type);
    for (const auto& [name, value] : fault.headers) answer.set_header(name, value);
    answer.status_line = fault.status_line;
    answer.delivery = fault.delivery;
  }
  if (http.method == "HEAD") answer.head_only = true;
  answer.set_header("Date", http_date(now()));
  answer.set_header("Server", "fault-server");
  const auto has_id = [](const auto& header) { return equal_ignoring_case(header.first, "x-amz-request-id"); };
  if (std::ranges::none_of(answer.headers, has_id)) answer.set_header("x-amz-request-id", "FAULT0000000001");
  request->status = answer.status;
  const MutexLock lock(mutex_);
  answer.delivery.delay += latency_;
  if (!options_.keep_log) return answer;
  answer.ended = [this, number = cleared_ + log_.size()] {
    const MutexLock ended_lock(mutex_);
    if (number >= cleared_) log_[number - cleared_].ended = true;
  };
  log_.push_back(std::move(*request));
  logged_.notify_all();
  return answer;
}

std::optional<HttpAnswer> FaultServer::refuse(const LoggedRequest& request) {
  const auto& http = request.http;
  if (options_.refuse_integrity_headers) {
    if (http.has_header("transfer-encoding"))
      return error_answer(411, "MissingContentLength", "Content-Length, please");
    for (const auto& [name, value] : http.headers) {
      if (name == "x-amz-trailer") return error_answer(501, "NotImplemented", "A header you provided is unknown");
      if (name.starts_with("x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm") {
        return error_answer(400, "InvalidArgument", "x-amz-checksum headers are not supported");
      }
    }
  }
  if (options_.check_signatures) {
    if (auto refusal = refuse_signature(request)) return refusal;
  }
  if (options_.require_requester_pays && http.header("x-amz-request-payer") != "requester") {
    return error_answer(403, "AccessDenied", "Access Denied");
  }
  if (options_.allowed_prefix && (request.operation == "Other" || !request.key.starts_with(*options_.allowed_prefix))) {
    return error_answer(403, "AccessDenied", "Access Denied");
  }
  return std::nullopt;
}

std::optional<HttpAnswer> FaultServer::refuse_signature(const LoggedRequest& request) {
  const auto& http = request.http;
  const auto header = parse_sigv4_header(http.header("authorization"));
  if (!header) return error_answer(403, "AccessDenied", "Access Denied");
  std::optional<Credentials> known;
  {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(credentials_, header->access_key, &Credentials::access_key);
    if (found != credentials_.end()) {
      if (found->use && now_locked() >= found->use->expires) {
        ++found->use->refused;
        return error_answer(400, "ExpiredToken", "The provided token has expired.");
      }
      if (found->use) {
        ++found->use->uses;
        found->use->last_use = now_locked();
      }
      known = *found;
    }
  }
  if (!known) return error_answer(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist");
  if (known->refused_with == "ExpiredToken") {
    return error_answer(400, "ExpiredToken", "The provided token has expired.");
  }
  if (!known->refused_with.empty()) return error_answer(403, known->refused_with, "Refused after the rotation");
  if (header->region != options_.region) {
    if (options_.wrong_region == WrongRegionAnswer::moved_permanently) {
      auto moved = error_answer(301, "PermanentRedirect", "The bucket must be addressed using the specified endpoint");
      moved.set_header("x-amz-bucket-region", options_.region);
      return moved;
    }
    return error_answer(400, "AuthorizationHeaderMalformed",
                        fmt::format("the region '{}' is wrong; expecting '{}'", header->region, options_.region),
                        fmt::format("<Region>{}</Region>", options_.region));
  }
  const auto date = parse_amz_date(http.header("x-amz-date"));
  if (!date) return error_answer(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
  constexpr UnixMicros kAllowed = 15 * 60 * UnixMicros{1'000'000};
  if (*date < now() - kAllowed || *date > now() + kAllowed) {
    return error_answer(403, "RequestTimeTooSkewed",
                        "The difference between the request time and the current time is too large.",
                        "<MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds>");
  }
  const std::string signed_list = ";" + header->signed_headers + ";";
  for (const auto& [name, value] : http.headers) {
    const bool must = name == "host" || name.starts_with("x-amz-") || name == "content-md5";
    if (must && signed_list.find(";" + name + ";") == signed_list.npos) {
      return error_answer(403, "AccessDenied", "There were headers present in the request which were not signed");
    }
  }
  if (http.header("x-amz-security-token") != known->session_token) {
    return error_answer(400, "InvalidToken", "The provided token is malformed or otherwise invalid.");
  }
  const auto told = http.header("x-amz-content-sha256");
  if (told != "UNSIGNED-PAYLOAD" && told != sha256_hex(http.body)) {
    return error_answer(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' does not match");
  }
  if (sigv4_signature(http, *header, known->secret_key) != header->signature) {
    return error_answer(403, "SignatureDoesNotMatch",
                        "The request signature we calculated does not match the signature you provided.");
  }
  return std::nullopt;
}

}  // namespace millrace::testing
