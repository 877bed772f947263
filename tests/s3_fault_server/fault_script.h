// SPDX-License-Identifier: Apache-2.0
// Faults as data: which requests they meet, how often, and what happens to the answer. Written as a struct in a test or
// as a line of a file in cases/ (see README.md). Plain values; FaultScript is thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

inline constexpr std::uint64_t kEveryTime = UINT64_MAX;

struct ServerFault {
  // Which requests: empty means any.
  std::string operation;   ///< as LoggedRequest names it
  std::string key;         ///< the object's key; for listings their prefix
  std::uint64_t skip = 0;  ///< so many matching requests pass first
  std::uint64_t times = 1;

  // An answer instead of the real one, when status is set.
  int status = 0;
  std::string code;                 ///< S3 error code of the XML body
  std::optional<std::string> body;  ///< instead of the XML error
  std::string content_type;
  std::string status_line;  ///< the whole first line: "HTTP/1.0 200 OK"
  HttpHeaders headers;      ///< added to the answer, real or not; the same name replaces

  // What becomes of the real answer.
  bool ignore_range = false;       ///< 200 with everything
  bool ignore_conditions = false;  ///< as if no If-Match or If-None-Match had come
  bool ignore_if_match = false;    ///< as if no If-Match had come
  bool no_etag = false;
  bool error_after_success = false;           ///< does the work, then answers with status and code all the same
  std::int64_t shift_range = 0;               ///< answers for a range that begins so much later, and says so
  std::optional<std::uint64_t> total_size;    ///< told in Content-Range instead of the true one
  std::optional<std::uint64_t> short_range;   ///< answers for a range of so many bytes only, and says so
  std::optional<std::string> replace_object;  ///< the object holds this from after the answer on
  bool delete_object = false;                 ///< the object is gone from after the answer on
  Delivery delivery;

  /// Parses "op=GetObject key=in/a skip=1 times=2 status=503 code=SlowDown header='Retry-After: 2' ...".
  [[nodiscard]] static Result<ServerFault> parse(std::string_view line);
};

/// Faults in order; the first that is due for a request is taken.
class FaultScript {
 public:
  void add(ServerFault fault);
  void clear();
  [[nodiscard]] std::optional<ServerFault> take(std::string_view operation, std::string_view key);
  /// True when every fault with a bounded count has happened as often as it should.
  [[nodiscard]] bool all_happened() const;

 private:
  mutable Mutex mutex_;
  std::vector<ServerFault> faults_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::testing
