// SPDX-License-Identifier: Apache-2.0
// RollingHash: folds objects, in order, into 64 bits (XXH3), so that a key added, removed or overwritten anywhere below
// a position is seen. Fields carry their lengths, so that no two lists fold the same bytes. A value; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::s3_source {

class RollingHash {
 public:
  void fold(std::string_view key, std::string_view etag, std::uint64_t size);
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  friend bool operator==(const RollingHash& a, const RollingHash& b) noexcept { return a.value_ == b.value_; }

 private:
  std::uint64_t value_ = 0;
  std::string fields_;  // scratch, reused
};

void put_little_endian(std::string& out, std::uint64_t number, int bytes);
/// XXH3 of a byte string that comes in pieces.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;
  void add(std::string_view bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

/// What an object adds to the hash, and to a packed listing: lengths, key, ETag and size, as docs/formats/manifest.md
/// has them.
void append_fields(std::string& out, std::string_view key, std::string_view etag, std::uint64_t size);
/// XXH3 of one byte string.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes) noexcept;
/// 16 lower-case hex digits.
[[nodiscard]] std::string to_hex(std::uint64_t hash);

}  // namespace millrace::s3_source
