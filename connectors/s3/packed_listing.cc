// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/packed_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"
#include "millrace/codec/decompressor.h"
#include "millrace/codec/zstd_frame.h"

namespace millrace::s3_source {
namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;
// No store has longer ones; keeps damaged lengths from asking for memory.
constexpr std::size_t kLongestField = std::size_t{1} << 20U;

Error damaged(std::string_view why) {
  return Error::fatal(ErrorCode::manifest, fmt::format("it is no listing: {}", why));
}

/// The packed objects one after the other.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed)
      : packed_(packed), decompressor_(make_decompressor(Codec::zstd, DecompressorOptions{})) {}

  /// Goes to the next object; false behind the last one.
  Result<bool> next() {
    MILLRACE_ASSIGN(const bool more, want(4));
    if (!more && at_ == plain_.size()) return false;
    MILLRACE_ASSIGN(const std::size_t key_size, length());
    MILLRACE_TRY(need(4 + key_size + 4));
    const std::size_t begin = at_;
    at_ += 4 + key_size;
    MILLRACE_ASSIGN(const std::size_t etag_size, length());
    at_ = begin;
    MILLRACE_TRY(need(4 + key_size + 4 + etag_size + 8));
    key = std::string_view(plain_).substr(at_ + 4, key_size);
    etag = std::string_view(plain_).substr(at_ + 4 + key_size + 4, etag_size);
    at_ += 4 + key_size + 4 + etag_size;
    size = number(8);
    at_ += 8;
    return true;
  }

  // Until the next call of next().
  std::string_view key;
  std::string_view etag;
  std::uint64_t size = 0;

 private:
  /// True when so many plain bytes stand at at_.
  Result<bool> want(std::size_t bytes) {
    while (plain_.size() - at_ < bytes && !ended_) {
      plain_.erase(0, at_);
      at_ = 0;
      const std::size_t had = plain_.size();
      plain_.resize(had + kBlock);
      MILLRACE_ASSIGN(const auto step, decompressor_->decompress(packed_, std::span(plain_).subspan(had)));
      plain_.resize(had + step.produced);
      packed_.remove_prefix(step.consumed);
      if (step.produced != 0) continue;
      if (packed_.empty()) {
        MILLRACE_TRY(decompressor_->finish());
        ended_ = true;
      } else if (step.consumed == 0) {
        return fail(damaged("its compressed bytes lead nowhere"));
      }
    }
    return plain_.size() - at_ >= bytes;
  }
  Result<void> need(std::size_t bytes) {
    MILLRACE_ASSIGN(const bool there, want(bytes));
    if (!there) return fail(damaged("it ends inside an object"));
    return {};
  }
  Result<std::size_t> length() {
    MILLRACE_TRY(need(4));
    const std::uint64_t bytes = number(4);
    if (bytes > kLongestField) return fail(damaged(fmt::format("a field of {} bytes", bytes)));
    return bytes;
  }
  [[nodiscard]] std::uint64_t number(std::size_t bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8U | static_cast<unsigned char>(plain_[at_ + i]);
    return value;
  }

  std::string_view packed_;
  const std::unique_ptr<Decompressor> decompressor_;
  std::string plain_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

void count(ListingDifference::Kind& kind, std::string_view key) {
  if (kind.count++ < ListingDifference::kNamed) kind.first.emplace_back(key);
}

}  // namespace

std::string pack(const Listing& listing) {
  ZstdFrame frame;
  std::string block;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const ListedObject object = listing[i];
    append_fields(block, object.key, object.etag, object.size);
    if (block.size() < kBlock) continue;
    frame.write(block);
    block.clear();
  }
  frame.write(block);
  return frame.finish();
}

Result<ListingDifference> changes_since(std::string_view packed, const Listing& now) {
  ListingDifference difference;
  Unpacker then(packed);
  std::string before;  // the key unpacked last
  std::size_t at = 0;
  for (bool first = true;; first = false) {
    MILLRACE_ASSIGN(const bool more, then.next());
    if (!more) break;
    if (!first && then.key <= before) return fail(damaged("its keys do not rise"));
    before = then.key;
    for (; at < now.size() && now[at].key < then.key; ++at) count(difference.added, now[at].key);
    if (at == now.size() || now[at].key != then.key) {
      count(difference.removed, then.key);
      continue;
    }
    const ListedObject object = now[at++];
    if (object.etag != then.etag || object.size != then.size) count(difference.overwritten, then.key);
  }
  for (; at < now.size(); ++at) count(difference.added, now[at].key);
  return difference;
}

std::string ListingDifference::describe() const {
  std::string text;
  const auto tell = [&text](const Kind& kind, std::string_view what) {
    if (kind.count == 0) return;
    std::string names;
    for (const std::string& key : kind.first) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(key));
    if (kind.count > kind.first.size()) names += ", ...";
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", kind.count, what, names);
  };
  tell(added, "added");
  tell(removed, "removed");
  tell(overwritten, "overwritten");
  return text.empty() ? "no object has changed" : text;
}

}  // namespace millrace::s3_source
