// SPDX-License-Identifier: Apache-2.0
#include "store/s3/answer_sink.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "millrace/base/printable.h"
#include "store/s3/http_date.h"

namespace millrace::s3 {

namespace {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
};

// "bytes 0-9/100"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  ContentRange range;
  const auto number = [&](std::uint64_t& out, char after) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
    if (parsed.ec != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (after == '\0') return text.empty();
    if (!text.starts_with(after)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!number(range.first, '-') || !number(range.last, '/') || !number(range.total, '\0')) return std::nullopt;
  if (range.first > range.last || range.last >= range.total) return std::nullopt;
  return range;
}

std::unexpected<Error> bad(std::string why) { return fail(Error::retryable(ErrorCode::bad_response, std::move(why))); }

std::string_view unquoted(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return etag;
}

}  // namespace

std::optional<std::uint64_t> content_length(const HttpHead& head) {
  const std::string_view text = head.header("content-length");
  std::uint64_t length = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return length;
}

bool same_etag(std::string_view a, std::string_view b) { return unquoted(a) == unquoted(b); }

Result<void> RangeSink::begin(const HttpHead& head) {
  const std::size_t wanted = asked_.destination.size();
  ContentRange range;
  if (head.status == 206) {
    const auto told = parse_content_range(head.header("content-range"));
    if (!told) {
      return bad(fmt::format("the answer's Content-Range '{}' is no range of known size",
                             printable(head.header("content-range"), 80)));
    }
    range = *told;
    if (range.first != asked_.offset || range.last - range.first >= wanted) {
      return bad(fmt::format("bytes {} to {} were asked for, and bytes {} to {} came", asked_.offset,
                             asked_.offset + wanted - 1, range.first, range.last));
    }
  } else {
    // A server may answer the whole object to a range that spans it; any other 200 is not what was asked for.
    const auto length = content_length(head);
    if (head.status != 200 || asked_.offset != 0 || !length || *length != wanted || head.header("etag").empty()) {
      return bad(fmt::format("bytes {} to {} were asked for, and the answer is {} ({}, {} bytes)", asked_.offset,
                             asked_.offset + wanted - 1, head.status, printable(head.header("content-type"), 80),
                             length ? fmt::format("{}", *length) : "an unknown number of"));
    }
    range = {0, *length - 1, *length};
  }
  if (asked_.object_size && range.total != *asked_.object_size) {
    return fail(Error::fatal(ErrorCode::drift, fmt::format("the object has changed: it was listed with {} bytes and "
                                                           "has {} now",
                                                           *asked_.object_size, range.total)));
  }
  info_.etag.value = head.header("etag");
  if (asked_.if_match.pins()) {
    if (info_.etag.empty()) {
      return bad(fmt::format("the answer has no ETag, so it is not known to be version {}",
                             printable(asked_.if_match.value, 120)));
    }
    if (!same_etag(info_.etag.value, asked_.if_match.value)) {
      return fail(Error::fatal(ErrorCode::precondition_failed,
                               fmt::format("the object has changed: version {} was asked for, and the store answered "
                                           "{} although the request was conditional",
                                           printable(asked_.if_match.value, 120), printable(info_.etag.value, 120))));
    }
  }
  info_.object_size = range.total;
  info_.last_modified = parse_http_date(head.header("last-modified")).value_or(kNoTimestamp);
  info_.content_encoding = head.header("content-encoding");
  expected_ = static_cast<std::size_t>(range.last - range.first + 1);
  return {};
}

Result<void> RangeSink::write(std::string_view bytes) {
  if (bytes.size() > expected_ - received_) {
    return bad(fmt::format("more than the {} bytes came that were promised", expected_));
  }
  std::memcpy(asked_.destination.data() + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return {};
}

Result<void> RangeSink::end() {
  if (received_ < asked_.destination.size()) {
    return fail(Error::retryable(ErrorCode::interrupted_transfer, fmt::format("the body ended after {} of {} bytes",
                                                                              received_, asked_.destination.size())));
  }
  return {};
}

Result<void> TextSink::begin(const HttpHead& head) {
  const auto length = content_length(head);
  if (length && *length > limit_) {
    return fail(
        Error::fatal(ErrorCode::too_large, fmt::format("it has {} bytes, and {} are allowed", *length, limit_)));
  }
  if (!length && head.header("transfer-encoding").empty()) {
    return bad("the answer does not say how long it is, so its end cannot be told from a cut");
  }
  text_.clear();
  if (length) text_.reserve(static_cast<std::size_t>(*length));
  return {};
}

Result<void> TextSink::write(std::string_view bytes) {
  if (bytes.size() > limit_ - text_.size()) {
    return fail(Error::fatal(ErrorCode::too_large, fmt::format("it has more than the {} bytes allowed", limit_)));
  }
  text_.append(bytes);
  return {};
}

Result<void> ShortSink::begin(const HttpHead& /*head*/) {
  text_.clear();
  return {};
}

Result<void> ShortSink::write(std::string_view bytes) {
  constexpr std::size_t kLimit = 64U << 10U;
  text_.append(bytes.substr(0, kLimit - text_.size()));
  return {};
}

}  // namespace millrace::s3
