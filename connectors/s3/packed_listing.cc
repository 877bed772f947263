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
// In front of the objects; another version of this file would have another one.
constexpr std::string_view kMagic = "MRLIST2\n";
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

  Result<void> begin() {
    MILLRACE_ASSIGN(const bool there, want(kMagic.size()));
    if (!there || !std::string_view(plain_).substr(at_).starts_with(kMagic)) {
      return fail(damaged("it does not begin like one that this program writes"));
    }
    at_ += kMagic.size();
    return {};
  }
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
    MILLRACE_TRY(need(4 + key_size + 4 + etag_size + 8 + 8));
    key = std::string_view(plain_).substr(at_ + 4, key_size);
    etag = std::string_view(plain_).substr(at_ + 4 + key_size + 4, etag_size);
    at_ += 4 + key_size + 4 + etag_size;
    size = number(8);
    at_ += 8;
    last_modified = static_cast<UnixMicros>(number(8));
    at_ += 8;
    return true;
  }
  [[nodiscard]] ObjectVersion version() const { return {std::string(etag), size, last_modified}; }

  // Until the next call of next().
  std::string_view key;
  std::string_view etag;
  std::uint64_t size = 0;
  UnixMicros last_modified = kNoTimestamp;

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

ObjectVersion version_of(const ListedObject& object) {
  return {std::string(object.etag), object.size, object.last_modified};
}

std::string text_of(const ObjectVersion& version) {
  std::string text = fmt::format("{} bytes", version.size);
  if (!version.etag.empty()) text += ", ETag " + printable(version.etag, 200);
  if (version.last_modified != kNoTimestamp) text += ", of " + to_rfc3339(version.last_modified);
  return text;
}

std::string text_of(const ObjectChange& change) {
  const std::string key = printable(change.key, 1024);
  if (change.kind() != ObjectChange::Kind::changed) {
    return fmt::format("'{}' ({})", key, text_of(change.was ? *change.was : *change.is));
  }
  return fmt::format("'{}' (was {}; is {})", key, text_of(*change.was), text_of(*change.is));
}

}  // namespace

std::string pack(const Listing& listing) {
  ZstdFrame frame;
  std::string block(kMagic);
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const ListedObject object = listing[i];
    append_fields(block, object.key, object.etag, object.size);
    put_little_endian(block, static_cast<std::uint64_t>(object.last_modified), 8);
    if (block.size() < kBlock) continue;
    frame.write(block);
    block.clear();
  }
  frame.write(block);
  return frame.finish();
}

Result<void> each_change(std::string_view packed, const Listing& now,
                         const std::function<Result<void>(ObjectChange)>& tell) {
  Unpacker then(packed);
  MILLRACE_TRY(then.begin());
  const auto added = [&](const ListedObject& object) {
    return tell({std::string(object.key), std::nullopt, version_of(object)});
  };
  std::string before;  // the key unpacked last
  std::size_t at = 0;
  for (bool first = true;; first = false) {
    MILLRACE_ASSIGN(const bool more, then.next());
    if (!more) break;
    if (!first && then.key <= before) return fail(damaged("its keys do not rise"));
    before = then.key;
    for (; at < now.size() && now[at].key < then.key; ++at) MILLRACE_TRY(added(now[at]));
    if (at == now.size() || now[at].key != then.key) {
      MILLRACE_TRY(tell({before, then.version(), std::nullopt}));
      continue;
    }
    const ListedObject object = now[at++];
    if (object.etag != then.etag || object.size != then.size) {
      MILLRACE_TRY(tell({before, then.version(), version_of(object)}));
    }
  }
  for (; at < now.size(); ++at) MILLRACE_TRY(added(now[at]));
  return {};
}

void ListingDifference::add(ObjectChange change) {
  Kind& kind = change.kind() == ObjectChange::Kind::added     ? added
               : change.kind() == ObjectChange::Kind::removed ? removed
                                                              : changed;
  if (kind.count++ < kNamed) kind.first.push_back(std::move(change));
}

std::string ListingDifference::describe() const {
  std::string text;
  const auto tell = [&text](const Kind& kind, std::string_view what) {
    if (kind.count == 0) return;
    std::string named;
    for (const ObjectChange& change : kind.first) named += (named.empty() ? "" : ", ") + text_of(change);
    if (kind.count > kind.first.size()) named += ", ...";
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", kind.count, what, named);
  };
  tell(added, "added");
  tell(removed, "removed");
  tell(changed, "changed");
  return text.empty() ? "no object has changed" : text;
}

}  // namespace millrace::s3_source
