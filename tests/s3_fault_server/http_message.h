// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 requests and answers as the fault server sees them: raw bytes kept, and an answer that says how to misbehave
// while it is sent. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/time.h"

namespace millrace::testing {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string target;   ///< as sent, byte for byte
  HttpHeaders headers;  ///< names in lower case, values as sent without the blanks around them
  std::string body;
  std::uint64_t connection = 0;  ///< number of the connection it came on, from 1

  /// The first header of that name (lower case); empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] bool has_header(std::string_view name) const;
};

/// How the body's length is told.
enum class BodyFraming { content_length, chunked, until_close };

/// How an answer is sent. Counts are body bytes sent before the thing happens.
struct Delivery {
  Duration delay{0};                         ///< before the first byte
  std::optional<std::uint64_t> close_after;  ///< then FIN, whatever was promised
  std::optional<std::uint64_t> reset_after;  ///< then RST
  std::optional<std::uint64_t> stall_after;  ///< then nothing more, with the socket open
  std::optional<std::uint64_t> pause_after;  ///< then nothing for `pause`, then the rest
  Duration pause{0};
  Duration drip{0};  ///< above zero: one byte of the body per this time
  BodyFraming framing = BodyFraming::content_length;
  bool omit_last_chunk = false;  ///< chunked: closes without the closing chunk
  bool close_connection = false;
  bool no_answer = false;  ///< closes (or resets, with reset_after) without a byte
};

struct HttpAnswer {
  int status = 200;
  std::string status_line;  ///< replaces the whole first line when not empty
  HttpHeaders headers;
  /// `length` bytes of `body` from `offset` on.
  std::shared_ptr<const std::string> body;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<std::uint64_t> told_length;  ///< Content-Length when it is not `length`
  bool head_only = false;                    ///< HEAD: told, not sent
  Delivery delivery;
  std::function<void()> ended;  ///< called when the last byte is with the kernel, or sending was broken off

  void set_body(std::string bytes) {
    length = bytes.size();
    offset = 0;
    body = std::make_shared<const std::string>(std::move(bytes));
  }
  /// Replaces the header of that name, whatever its case.
  void set_header(std::string_view name, std::string value);
};

[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace millrace::testing
