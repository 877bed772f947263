// SPDX-License-Identifier: Apache-2.0
// ByteReader and ByteWriter: little-endian fields of foreign bytes. A reader that runs out stays failed and yields
// zeros, so a decoder checks once per record instead of once per field. Borrow what they read and write; one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "millrace/base/bytes.h"

namespace millrace::iggy {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie");

/// The field at `at`. Requires that it lies within `bytes`.
template <class T>
[[nodiscard]] T load(std::string_view bytes, std::size_t at = 0) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The engine counts in 63 bits, and one past the last.
inline constexpr std::uint64_t kMostOffset = INT64_MAX - 1;

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) noexcept : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T number() noexcept {
    const std::string_view taken = take(sizeof(T));
    return taken.size() == sizeof(T) ? load<T>(taken) : T{};
  }
  [[nodiscard]] std::uint8_t u8() noexcept { return number<std::uint8_t>(); }
  [[nodiscard]] std::uint16_t u16() noexcept { return number<std::uint16_t>(); }
  [[nodiscard]] std::uint32_t u32() noexcept { return number<std::uint32_t>(); }
  [[nodiscard]] std::uint64_t u64() noexcept { return number<std::uint64_t>(); }
  /// An offset behind which there is another one, in 63 bits too; any other number fails.
  [[nodiscard]] std::uint64_t offset() noexcept {
    const std::uint64_t offset = u64();
    failed_ = failed_ || offset > kMostOffset;
    return failed_ ? 0 : offset;
  }
  /// Exactly `count` bytes, or none and failed.
  [[nodiscard]] std::string_view take(std::size_t count) noexcept {
    if (count > bytes_.size() - at_) {
      failed_ = true;
      at_ = bytes_.size();
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  void skip(std::size_t count) noexcept { static_cast<void>(take(count)); }
  /// A length of one byte, and what it counts.
  [[nodiscard]] std::string_view name() noexcept { return take(u8()); }
  /// A length of four bytes, and what it counts.
  [[nodiscard]] std::string_view block() noexcept { return take(u32()); }

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
  [[nodiscard]] bool ended() const noexcept { return left() == 0; }
  /// What lies between two places that were passed.
  [[nodiscard]] std::string_view between(std::size_t from, std::size_t to) const noexcept {
    return bytes_.substr(from, to - from);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

class ByteWriter {
 public:
  explicit ByteWriter(ByteBuffer& out) noexcept : out_(&out) {}

  template <class T>
  void number(T value) {
    std::memcpy(out_->grow(sizeof value), &value, sizeof value);
  }
  void u8(std::uint8_t value) { number(value); }
  void u32(std::uint32_t value) { number(value); }
  void u64(std::uint64_t value) { number(value); }
  void zeros(std::size_t count) { std::memset(out_->grow(count), 0, count); }
  void bytes(std::string_view bytes) { out_->append(bytes); }
  /// A length of one byte before it. What has none, or more bytes than that can count, fails.
  void name(std::string_view name) {
    if (name.empty() || name.size() > 255) failed_ = true;
    u8(static_cast<std::uint8_t>(name.size()));
    bytes(name);
  }
  void block(std::string_view block) {
    u32(static_cast<std::uint32_t>(block.size()));
    bytes(block);
  }
  [[nodiscard]] std::size_t at() const noexcept { return out_->size(); }
  /// Overwrites a field that was written before.
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(out_->data() + at, &value, sizeof value);
  }
  /// What was written from `at` on; valid until the next write.
  [[nodiscard]] std::string_view written(std::size_t at) const noexcept { return out_->view().substr(at); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  ByteBuffer* out_;
  bool failed_ = false;
};

}  // namespace millrace::iggy
