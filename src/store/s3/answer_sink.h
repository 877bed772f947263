// SPDX-License-Identifier: Apache-2.0
// Where the body of a successful answer goes: into the reader's memory, checked against what was asked for, or into a
// string of bounded length. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "store/s3/http_exchange.h"

namespace millrace::s3 {

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  /// The head of a 2xx answer. An error ends the transfer and is the call's.
  [[nodiscard]] virtual Result<void> begin(const HttpHead& head) = 0;
  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
  /// The body has come to its proper end.
  [[nodiscard]] virtual Result<void> end() = 0;
};

/// The bytes [offset, offset + destination.size()) of one object, as they were asked for: Content-Range, total, ETag
/// and count must fit, or the answer is a fault and no data.
class RangeSink final : public AnswerSink {
 public:
  struct Asked {
    std::uint64_t offset = 0;
    std::span<char> destination;
    ETag if_match;  ///< pinning, or empty
    std::optional<std::uint64_t> object_size;
  };
  explicit RangeSink(Asked asked) : asked_(std::move(asked)) {}

  [[nodiscard]] Result<void> begin(const HttpHead& head) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;
  [[nodiscard]] Result<void> end() override;
  /// Good bytes at the front of the destination, also after an error.
  [[nodiscard]] std::size_t received() const { return received_; }
  [[nodiscard]] ReadInfo take_info() { return std::move(info_); }

 private:
  const Asked asked_;
  std::size_t expected_ = 0;  // what the answer promises of it
  std::size_t received_ = 0;
  ReadInfo info_;
};

/// A whole body of at most `limit` bytes.
class TextSink final : public AnswerSink {
 public:
  explicit TextSink(std::size_t limit) : limit_(limit) {}
  [[nodiscard]] Result<void> begin(const HttpHead& head) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;
  [[nodiscard]] Result<void> end() override { return {}; }
  [[nodiscard]] std::string& text() { return text_; }

 private:
  const std::size_t limit_;
  std::string text_;
};

/// The beginning of an answer whose body is of no account (to a put, a HEAD, a delete), kept in case it is an error
/// under a good status.
class ShortSink final : public AnswerSink {
 public:
  [[nodiscard]] Result<void> begin(const HttpHead& head) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;
  [[nodiscard]] Result<void> end() override { return {}; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Content-Length; nothing when it is missing or no number.
[[nodiscard]] std::optional<std::uint64_t> content_length(const HttpHead& head);

/// True when both name the same bytes: quotes around an ETag are dropped by some servers in one place and not in
/// another.
[[nodiscard]] bool same_etag(std::string_view a, std::string_view b);

}  // namespace millrace::s3
