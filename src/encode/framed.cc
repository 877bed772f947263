// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/framed.h"

#include <fmt/format.h>

#include <cstring>

#include "millrace/record/record_place.h"

namespace millrace::encode {
namespace {

// In front of each record; key_size is one more than the key has, 0 where there is none.
struct Front {
  std::int64_t offset;
  std::int64_t timestamp;
  std::uint64_t value_size;
  std::uint64_t key_size;
  std::uint64_t headers_size;
  std::uint64_t header_count;
};
struct HeaderFront {
  std::uint64_t name_size;
  std::uint64_t value_size;
};

static_assert(sizeof(Front) == kFrameBytes && sizeof(HeaderFront) == kHeaderFrameBytes);

template <class Plain>
void append_plain(ByteBuffer& out, const Plain& plain) {
  out.append({reinterpret_cast<const char*>(&plain), sizeof plain});
}

std::string_view take(std::string_view& from, std::size_t size) noexcept {
  const std::string_view taken = from.substr(0, size);
  from.remove_prefix(taken.size());
  return taken;
}

template <class Plain>
Plain take_plain(std::string_view& from) noexcept {
  Plain plain{};
  const std::string_view bytes = take(from, sizeof plain);
  std::memcpy(&plain, bytes.data(), bytes.size());
  return plain;
}

Error too_large(const RecordMeta& meta, std::size_t size, std::size_t limit) {
  return Error::record(
      ErrorCode::too_large,
      fmt::format("{} is {} bytes long with its key and headers, and max_record_bytes of the sink is {}",
                  record_place(meta), size, limit));
}

}  // namespace

Result<void> append_framed(ByteBuffer& out, std::string_view value, const RecordMeta& meta, std::size_t limit) {
  Front front{meta.offset.value(), meta.timestamp, value.size(), meta.has_key ? meta.key.size() + 1 : 0, 0,
              meta.header_count};
  std::size_t size = value.size() + meta.key.size();
  for (std::size_t i = 0; i < meta.header_count; ++i) {
    const Header& header = meta.headers[i];
    // What stands around it counts, as it does on the wire: so many empty ones are large too.
    front.headers_size += sizeof(HeaderFront) + header.name.size() + header.value.size();
  }
  size += front.headers_size;
  if (limit != 0 && size > limit) [[unlikely]]
    return fail(too_large(meta, size, limit));
  append_plain(out, front);
  if (meta.has_key) out.append(meta.key);
  for (std::size_t i = 0; i < meta.header_count; ++i) {
    const Header& header = meta.headers[i];
    append_plain(out, HeaderFront{header.name.size(), header.value.size()});
    out.append(header.name);
    out.append(header.value);
  }
  out.append(value);
  return {};
}

bool FramedReader::next(FramedRecord& record) noexcept {
  if (left_.size() < sizeof(Front)) return false;
  std::string_view left = left_;
  const auto front = take_plain<Front>(left);
  const std::uint64_t key_size = front.key_size != 0 ? front.key_size - 1 : 0;
  if (key_size > left.size() || front.headers_size > left.size() - key_size ||
      front.value_size > left.size() - key_size - front.headers_size ||
      front.header_count > front.headers_size / sizeof(HeaderFront))
    return false;
  left_ = left;
  record.offset = Offset(front.offset);
  record.timestamp = front.timestamp;
  record.has_key = front.key_size != 0;
  record.key = take(left_, key_size);
  record.header_count = front.header_count;
  record.headers = take(left_, front.headers_size);
  record.value = take(left_, front.value_size);
  record.size =
      record.key.size() + record.value.size() + record.headers.size() - record.header_count * sizeof(HeaderFront);
  return true;
}

bool FramedHeaders::next(Header& header) noexcept {
  if (left_.empty()) return false;
  const auto front = take_plain<HeaderFront>(left_);
  header.name = take(left_, front.name_size);
  header.value = take(left_, front.value_size);
  return true;
}

}  // namespace millrace::encode
