// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/receipt_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"
#include "millrace/codec/decompressor.h"
#include "millrace/codec/zstd_frame.h"

namespace millrace::s3_source {
namespace {

// Lines of a part; a smaller last part is replaced rather than followed.
constexpr std::size_t kSmallPart = std::size_t{1} << 20U;

Result<std::string> unpacked(std::string_view bytes) {
  constexpr std::size_t kBlock = std::size_t{256} << 10U;
  const auto decompressor = make_decompressor(Codec::zstd, {});
  std::string plain;
  for (;;) {
    const std::size_t had = plain.size();
    plain.resize(had + kBlock);
    MILLRACE_ASSIGN(const auto step, decompressor->decompress(bytes, std::span(plain).subspan(had)));
    plain.resize(had + step.produced);
    bytes.remove_prefix(step.consumed);
    if (step.produced == 0 && (bytes.empty() || step.consumed == 0)) break;
  }
  MILLRACE_TRY(decompressor->finish());
  return plain;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string receipt_part_front(std::string_view manifest_key) { return key_beside(manifest_key, "receipt-"); }

std::string ReceiptFile::part_name(std::uint64_t number) const {
  const std::string key = fmt::format("{}{:06}-{}.ndjson.zst", receipt_part_front(options_.manifest_key), number,
                                      options_.owner.substr(0, 8));
  return key.substr(folder_of(key).size());
}

std::string ReceiptFile::part_key(std::string_view name) const {
  return std::string(folder_of(options_.manifest_key)) + std::string(name);
}

Result<std::string> ReceiptFile::read_part(const StoredRecord& record) const {
  return read(*parts_, record, part_key(record.name),
              std::string(folder_of(options_.manifest_url)) + printable(record.name));
}

/// As plain text.
Result<std::string> ReceiptFile::read(ObjectStore& store, const StoredRecord& record, const std::string& key,
                                      const std::string& url) const {
  const auto unusable = [&](std::string_view why) {
    return fail(Error::fatal(ErrorCode::manifest,
                             fmt::format("the receipt so far, {}, {}; no receipt can be given without it. Put it back, "
                                         "or start over with --reset and an emptied output",
                                         url, why)));
  };
  auto bytes = get_record(store, key, record, options_.timeout);
  if (!bytes && bytes.error().code() != ErrorCode::manifest) {
    return fail(std::move(bytes).error().prefixed(fmt::format("the receipt so far, {}, ", url)));
  }
  if (!bytes) return unusable(bytes.error().message());
  if (!key.ends_with(".zst")) return bytes;
  auto plain = unpacked(*bytes);
  if (!plain) return unusable(fmt::format("cannot be understood ({})", plain.error().message()));
  return plain;
}

Result<std::vector<PartialReceipt>> ReceiptFile::resume(const ReceiptState& state) {
  last_ = {};
  head_ = {};
  replaced_.clear();
  tail_.clear();
  tail_known_ = true;
  if (state.at.name.empty()) return std::vector<PartialReceipt>();
  if (state.finished) {
    MILLRACE_TRY(reopen(state.at));
    return std::vector<PartialReceipt>();
  }
  last_ = state.at;
  MILLRACE_ASSIGN(const std::string plain, read_part(last_));
  std::string_view text = plain;
  MILLRACE_ASSIGN(head_, parse_part(take_line(text)));
  tail_known_ = text.size() < kSmallPart;
  if (tail_known_) tail_ = text;
  replaced_ = head_.replaces;
  return head_.partial;
}

/// Objects have come since it was finished: its lines become those of a first part.
Result<void> ReceiptFile::reopen(const StoredRecord& finished) {
  MILLRACE_ASSIGN(tail_, read(*store_, finished, options_.key, options_.url));
  const std::size_t total = tail_.size() < 2 ? std::string::npos : tail_.rfind('\n', tail_.size() - 2);
  tail_.resize(total == std::string::npos ? 0 : total + 1);
  return {};
}

Result<std::vector<ObjectReceipt>> ReceiptFile::take_out(const std::function<bool(std::string_view key)>& again) {
  std::vector<ObjectReceipt> out;
  const auto keep_others = [&](std::string_view lines) -> Result<void> {
    while (!lines.empty()) {
      const std::string_view line = take_line(lines);
      MILLRACE_ASSIGN(ObjectReceipt object, parse_object(line));
      if (again(object.key)) {
        out.push_back(std::move(object));
      } else {
        tail_.append(line).push_back('\n');
      }
    }
    return {};
  };
  // What goes on is in memory once, and beside it one part.
  const std::string last = std::exchange(tail_, {});
  if (last_.name.empty()) MILLRACE_TRY(keep_others(last));
  MILLRACE_ASSIGN(const std::vector<StoredRecord> parts, all_parts());
  for (const StoredRecord& part : parts) {
    MILLRACE_ASSIGN(const std::string plain, read_part(part));
    std::string_view lines = plain;
    take_line(lines);
    MILLRACE_TRY(keep_others(lines));
    if (std::ranges::find(replaced_, part.name) == replaced_.end()) replaced_.push_back(part.name);
  }
  tail_known_ = true;
  last_ = {};
  head_.before = {};
  return out;
}

Result<StoredRecord> ReceiptFile::write(std::string_view lines, std::vector<PartialReceipt> partial) {
  ReceiptPart head;
  head.number = head_.number + 1;
  head.partial = std::move(partial);
  head.replaces = replaced_;
  if (tail_known_ && !last_.name.empty()) head.replaces.push_back(last_.name);
  head.before = tail_known_ ? head_.before : last_;
  // Without a copy of what stands there: behind take_out() that is all there is.
  ZstdFrame frame;
  frame.write(to_line(head));
  frame.write(tail_);
  frame.write(lines);
  const std::string body = frame.finish();
  const std::string name = part_name(head.number);
  auto record = put_record(*parts_, part_key(name), body, "application/zstd", options_.timeout);
  if (!record) {
    return fail(std::move(record).error().prefixed(
        fmt::format("writing {}{}: ", folder_of(options_.manifest_url), printable(name))));
  }
  replaced_ = head.replaces;
  head_ = std::move(head);
  last_ = *record;
  tail_known_ = tail_.size() + lines.size() < kSmallPart;
  tail_known_ ? void(tail_.append(lines)) : void(tail_ = std::string());
  return record;
}

void ReceiptFile::saved() {
  for (const std::string& name : std::exchange(replaced_, {})) std::ignore = parts_->remove(part_key(name));
}

/// From the first to the last.
Result<std::vector<StoredRecord>> ReceiptFile::all_parts() const {
  std::vector<StoredRecord> parts;
  StoredRecord at = last_;
  while (!at.name.empty()) {
    MILLRACE_ASSIGN(const std::string plain, read_part(at));
    std::string_view text = plain;
    MILLRACE_ASSIGN(ReceiptPart head, parse_part(take_line(text)));
    parts.push_back(std::exchange(at, head.before));
  }
  std::ranges::reverse(parts);
  return parts;
}

Result<StoredRecord> ReceiptFile::finish(const Manifest& manifest) {
  ReceiptTotal total;
  total.pipeline = options_.pipeline;
  total.source = manifest.identity.url;
  total.listed = manifest.listing.objects;
  total.listing_bytes = manifest.listing.bytes;
  total.listing_hash = manifest.listing.hash;
  StreamHash hash;
  const bool zstd = options_.key.ends_with(".zst");
  std::string body;
  ZstdFrame frame;
  const auto put_in = [&](std::string_view text) { zstd ? frame.write(text) : void(body.append(text)); };
  MILLRACE_ASSIGN(const std::vector<StoredRecord> parts, all_parts());
  for (const StoredRecord& part : parts) {
    MILLRACE_ASSIGN(const std::string plain, read_part(part));
    std::string_view lines = plain;
    take_line(lines);
    hash.add(lines);
    put_in(lines);
    while (!lines.empty()) {
      MILLRACE_ASSIGN(const ObjectReceipt line, parse_object(take_line(lines)));
      total.add(line);
    }
  }
  if (const std::string wrong = total.imbalance(); !wrong.empty()) {
    return fail(Error::fatal(ErrorCode::internal,
                             fmt::format("the receipt does not balance: {}. Everything is written and committed, but "
                                         "the run is not called Completed",
                                         wrong)));
  }
  total.xxh3 = hash.value();
  put_in(to_line(total));
  if (zstd) body = frame.finish();
  auto record =
      put_record(*store_, options_.key, body, zstd ? "application/zstd" : "application/x-ndjson", options_.timeout);
  if (!record) {
    return fail(std::move(record).error().prefixed(fmt::format("writing the receipt {}: ", options_.url)));
  }
  finished_ = parts;
  return record;
}

void ReceiptFile::remove_parts() {
  saved();
  for (const StoredRecord& part : finished_) std::ignore = parts_->remove(part_key(part.name));
}

}  // namespace millrace::s3_source
