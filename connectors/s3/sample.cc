// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "connectors/s3/codec_choice.h"
#include "connectors/s3/etag_form.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/read_now.h"
#include "millrace/base/bytes.h"
#include "millrace/base/printable.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::s3_source {
namespace {

constexpr std::size_t kFramesAtATime = 4096;

/// Reads the first bytes of objects as they were listed. A store that is away is waited for once, not for each object.
class Front {
 public:
  Front(ObjectStore& store, const RetryPolicy& retry, Clock& clock, Random& random, StopSignal& stop)
      : store_(store), tries_(retry, random), clock_(clock), stop_(stop) {}

  Result<ReadInfo> read(const ListedObject& object, ByteChunk& into) {
    while (true) {
      auto info = try_once(object, into);
      if (info || !info.error().is_retryable()) {
        tries_.progress();
        if (info) into.set_size(into.capacity());
        return info;
      }
      const auto wait = tries_.next(info.error(), clock_.now());
      if (!wait || stop_.wait(clock_, *wait)) return info;
    }
  }

 private:
  Result<ReadInfo> try_once(const ListedObject& object, ByteChunk& into) {
    const auto request = [&](bool pinned) {
      ReadRequest made;
      made.key = object.key;
      made.destination = into.writable();
      made.expected_object_size = object.size;
      if (ETag tag{std::string(object.etag)}; pinned && tag.pins()) made.if_match = std::move(tag);
      return made;
    };
    auto info = read_now(store_, request(true)).info;
    if (info || info.error().code() != ErrorCode::precondition_failed) return info;
    // A store may spell one ETag in two ways; then the answer tells whether it is the same.
    auto now = read_now(store_, request(false)).info;
    return now && opaque_tag(now->etag.value) == opaque_tag(object.etag) ? std::move(now) : std::move(info);
  }

  ObjectStore& store_;
  Tries tries_;
  Clock& clock_;
  StopSignal& stop_;
};

/// Decodes and frames what is there, and counts it.
Result<void> count(const Settings& settings, ByteChunk bytes, bool whole, SampledObject& out) {
  const S3SourceOptions& given = settings.given;
  std::unique_ptr<Decompressor> decompressor;
  if (out.codec != Codec::none) {
    decompressor = make_decompressor(out.codec, {.zstd_window_log_max = static_cast<int>(given.zstd_window_log_max),
                                                 .xz_memory_limit = given.xz_memory_limit.bytes});
  }
  FrameReader reader(settings.framer({.max_record_bytes = given.max_record_bytes.bytes, .csv = settings.csv}));
  reader.start(decompressor.get());
  reader.push(std::move(bytes), whole);
  Frames frames;
  while (true) {
    auto status = reader.next(kFramesAtATime, frames);
    out.stored = reader.stored_bytes();
    out.decoded = reader.decoded_bytes();
    if (!status) return fail(std::move(status).error());
    if (*status != FrameReader::Status::frames) return {};
    out.records += frames.size();
  }
}

/// An object's problem in the words of the lane that would read it.
SampledObject sample_one(Front& front, const ListedObject& object, const Settings& settings, const std::string& url) {
  SampledObject out{.key = std::string(object.key)};
  const std::size_t length = std::min<std::uint64_t>(kSampledBytes, object.size);
  ByteChunk bytes = ByteChunk::allocate(length);
  std::string name = fmt::format("object '{}{}'", url, printable(object.key));
  const auto looked = [&]() -> Result<void> {
    MILLRACE_ASSIGN(const ReadInfo info, front.read(object, bytes));
    out.content_encoding = info.content_encoding;
    MILLRACE_ASSIGN(out.codec,
                    choose_codec(settings.given.compression, object.key, info.content_encoding, bytes.view()));
    if (out.codec != Codec::none) name += fmt::format(" ({})", to_string(out.codec));
    return count(settings, std::move(bytes), length == object.size, out);
  }();
  if (looked) return out;
  out.problem = fmt::format("{}: {}", name, looked.error().message());
  out.set_aside =
      settings.given.on_object_error == OnObjectError::quarantine && is_fault_of_object(looked.error().code());
  return out;
}

}  // namespace

std::uint64_t Sample::problems() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(objects, [](const SampledObject& o) { return !o.problem.empty() && !o.set_aside; }));
}

std::optional<double> Sample::expansion(Codec codec) const {
  std::uint64_t stored = 0;
  std::uint64_t decoded = 0;
  for (const SampledObject& object : objects) {
    if (object.codec != codec || !object.problem.empty()) continue;
    stored += object.stored;
    decoded += object.decoded;
  }
  // A codec of large blocks (bz2, xz, zstd) may show nothing within so few bytes.
  if (stored == 0 || decoded == 0) return std::nullopt;
  return static_cast<double>(decoded) / static_cast<double>(stored);
}

std::optional<double> Sample::record_bytes() const {
  std::uint64_t decoded = 0;
  std::uint64_t records = 0;
  for (const SampledObject& object : objects) {
    if (object.records == 0 || !object.problem.empty()) continue;
    decoded += object.decoded;
    records += object.records;
  }
  if (records == 0) return std::nullopt;
  return static_cast<double>(decoded) / static_cast<double>(records);
}

std::vector<std::size_t> places_to_sample(const Listing& listing) {
  std::size_t readable = 0;
  for (std::size_t i = 0; i < listing.size(); ++i)
    readable += static_cast<std::size_t>(listing[i].kind == ObjectKind::data);
  const std::size_t count = std::min(readable, kSampledObjects);
  const auto rank = [&](std::size_t i) { return count == 1 ? 0 : i * (readable - 1) / (count - 1); };
  std::vector<std::size_t> places;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < listing.size() && places.size() < count; ++i) {
    if (listing[i].kind == ObjectKind::data && seen++ == rank(places.size())) places.push_back(i);
  }
  return places;
}

Sample take_sample(ObjectStore& store, const Listing& listing, const Settings& settings, const std::string& url_base,
                   Clock& clock, Random& random, StopSignal& stop) {
  Front front(store, settings.retry, clock, random, stop);
  Sample sample;
  for (const std::size_t place : places_to_sample(listing)) {
    sample.objects.push_back(sample_one(front, listing[place], settings, url_base));
  }
  return sample;
}

}  // namespace millrace::s3_source
