// SPDX-License-Identifier: Apache-2.0
// FaultServer: an S3 server for tests with everything in memory, a strict check of each signature, a script of faults,
// and a log of each request. In-process, on a free loopback port; stopped by its destructor. All members: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "tests/s3_fault_server/fault_script.h"
#include "tests/s3_fault_server/http_listener.h"
#include "tests/s3_fault_server/http_message.h"
#include "tests/s3_fault_server/object_table.h"
#include "tests/s3_fault_server/upload_table.h"

namespace millrace::testing {

/// What a request with a wrong region in its signature gets.
enum class WrongRegionAnswer { moved_permanently, authorization_header_malformed };

struct FaultServerOptions {
  std::uint16_t port = 0;  ///< 0: a free one
  std::string region = "us-east-1";
  std::string access_key = "AKIDEXAMPLE";
  std::string secret_key = "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY";
  std::string session_token;     ///< when set, requests must carry it
  bool check_signatures = true;  ///< false: unsigned requests pass
  std::string base_path;         ///< "/gw/s3": requests below it only
  std::string virtual_host;      ///< "s3.test": a Host of bucket.s3.test names the bucket; empty: path style only
  std::size_t page_size = 1000;  ///< of listings
  Duration latency{0};           ///< before each answer
  Duration idle_timeout{0};      ///< closes kept-alive connections after this; 0: never
  Duration clock_ahead{0};       ///< of the server's clock
  WrongRegionAnswer wrong_region = WrongRegionAnswer::authorization_header_malformed;
  bool require_requester_pays = false;  ///< 403 to whatever lacks x-amz-request-payer
  /// When set, every request outside this prefix is refused with 403 (a policy without further rights).
  std::optional<std::string> allowed_prefix;
  bool keep_log = true;  ///< false: requests are forgotten, for runs of millions
  /// 400 to checksum headers, 411 to chunked transfer, 501 to trailers.
  bool refuse_integrity_headers = false;
  PartRules parts{};
};

/// One request as it came, and what became of it.
struct LoggedRequest {
  /// ListObjectsV2, GetObject, PutObject, HeadObject, DeleteObject, the five of an upload in parts
  /// (CreateMultipartUpload, UploadPart, ...); "Other" for the rest, which is answered with 501.
  std::string operation;
  std::string bucket;
  std::string key;  ///< decoded; for listings the prefix
  std::vector<std::pair<std::string, std::string>> query;
  HttpRequest http;
  int status = 0;
  bool faulted = false;
  bool ended = false;  ///< the answer is sent, or was broken off
  [[nodiscard]] std::string_view query_value(std::string_view name) const;
};

class FaultServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<FaultServer>> start(FaultServerOptions options = {});
  ~FaultServer();
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  [[nodiscard]] std::string endpoint() const;  ///< http://127.0.0.1:port, with base_path
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const FaultServerOptions& options() const { return options_; }

  void create_bucket(std::string_view bucket) { objects_.create_bucket(bucket); }
  /// Makes the bucket when it is missing.
  void put_object(std::string_view bucket, std::string_view key, std::string bytes, StoredObject attributes = {});
  [[nodiscard]] std::optional<StoredObject> object(std::string_view bucket, std::string_view key) const {
    return objects_.get(bucket, key);
  }
  /// Uploads in parts that have begun and have not ended.
  [[nodiscard]] std::vector<BegunUpload> uploads(std::string_view bucket) const { return uploads_.uploads(bucket); }
  /// Ends them as a lifecycle rule of the bucket does, all or those of one key; how many there were.
  std::size_t end_uploads(std::string_view bucket, std::string_view key = {}) { return uploads_.end_all(bucket, key); }
  bool remove_object(std::string_view bucket, std::string_view key) { return objects_.remove(bucket, key); }
  void set_synthetic_keys(std::string_view bucket, SyntheticKeys keys) {
    objects_.set_synthetic(bucket, std::move(keys));
  }

  void add_fault(ServerFault fault) { script_.add(std::move(fault)); }
  /// A line as ServerFault::parse takes it; a line that does not parse ends the test program with the reason.
  void add_fault(std::string_view line);
  /// All fault lines of tests/s3_fault_server/cases/<name>.fault.
  [[nodiscard]] Result<void> load_case(std::string_view name);
  void clear_faults() { script_.clear(); }
  [[nodiscard]] bool all_faults_happened() const { return script_.all_happened(); }

  /// From now on this key pair (and token) is the accepted one; the one before answers `old_code` (ExpiredToken,
  /// InvalidAccessKeyId).
  void rotate_credentials(std::string access_key, std::string secret_key, std::string session_token,
                          std::string old_code);
  /// This key pair is accepted too, until `expires` by the server's clock; from then on it answers ExpiredToken.
  void accept_credentials(std::string access_key, std::string secret_key, std::string session_token,
                          UnixMicros expires);
  /// What became of a key pair that was accepted so, in the order in which they were.
  struct CredentialUse {
    std::string access_key;
    UnixMicros accepted = 0;
    UnixMicros expires = 0;
    UnixMicros last_use = 0;    ///< that was good; 0: none
    std::uint64_t uses = 0;     ///< that were good
    std::uint64_t refused = 0;  ///< after the end
  };
  [[nodiscard]] std::vector<CredentialUse> credential_uses() const;
  void set_latency(Duration latency);
  void set_clock_ahead(Duration ahead);
  [[nodiscard]] UnixMicros now() const;  ///< by the server's clock

  [[nodiscard]] std::vector<LoggedRequest> requests() const;
  /// Those of one operation, and one key when given.
  [[nodiscard]] std::vector<LoggedRequest> requests(std::string_view operation, std::string_view key = {}) const;
  [[nodiscard]] std::size_t count(std::string_view operation, std::string_view key = {}) const;
  void clear_log();
  [[nodiscard]] std::uint64_t connections() const { return listener_->connections(); }
  [[nodiscard]] std::uint64_t open_connections() const { return listener_->open_connections(); }
  /// Waits until `count` requests of `operation` have been answered or begun to be; false after `timeout`.
  bool wait_for(std::string_view operation, std::size_t count, Duration timeout = std::chrono::seconds(30));

 private:
  struct Credentials {
    std::string access_key;
    std::string secret_key;
    std::string session_token;
    std::string refused_with;          // empty: accepted
    std::optional<CredentialUse> use;  // of those that expire
  };
  explicit FaultServer(FaultServerOptions options);
  HttpAnswer answer(const HttpRequest& request);
  /// The answer to a request that may not be served; nothing when it may.
  std::optional<HttpAnswer> refuse(const LoggedRequest& request);
  std::optional<HttpAnswer> refuse_signature(const LoggedRequest& request);
  [[nodiscard]] UnixMicros now_locked() const MILLRACE_REQUIRES(mutex_);

  const FaultServerOptions options_;
  ObjectTable objects_;
  UploadTable uploads_;
  FaultScript script_;
  mutable Mutex mutex_;
  CondVar logged_;
  std::vector<LoggedRequest> log_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t cleared_ MILLRACE_GUARDED_BY(mutex_) = 0;  // requests that were in the log
  std::vector<Credentials> credentials_ MILLRACE_GUARDED_BY(mutex_);
  Duration latency_ MILLRACE_GUARDED_BY(mutex_){0};
  Duration clock_ahead_ MILLRACE_GUARDED_BY(mutex_){0};
  std::unique_ptr<HttpListener> listener_;  // last: its threads use the rest
};

}  // namespace millrace::testing
