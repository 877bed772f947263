// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/rolling_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace millrace::s3_source {

void put_little_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((number >> (8 * i)) & 0xFFU));
}

void append_fields(std::string& out, std::string_view key, std::string_view etag, std::uint64_t size) {
  put_little_endian(out, key.size(), 4);
  out += key;
  put_little_endian(out, etag.size(), 4);
  out += etag;
  put_little_endian(out, size, 8);
}

void RollingHash::fold(std::string_view key, std::string_view etag, std::uint64_t size) {
  fields_.clear();
  append_fields(fields_, key, etag, size);
  value_ = XXH3_64bits_withSeed(fields_.data(), fields_.size(), value_);
}

struct StreamHash::State {
  XXH3_state_t* const hash = XXH3_createState();
  State() { XXH3_64bits_reset(hash); }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};
StreamHash::StreamHash() : state_(std::make_unique<State>()) {}
StreamHash::~StreamHash() = default;
void StreamHash::add(std::string_view bytes) noexcept { XXH3_64bits_update(state_->hash, bytes.data(), bytes.size()); }
std::uint64_t StreamHash::value() const noexcept { return XXH3_64bits_digest(state_->hash); }

std::uint64_t hash_bytes(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string to_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace millrace::s3_source
