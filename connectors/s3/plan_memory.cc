// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/plan_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "connectors/s3/codec_choice.h"
#include "millrace/base/bounded.h"
#include "millrace/base/bytes.h"
#include "millrace/base/figures.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::s3_source {
namespace {

// Of a key above its own length (listing_memory_test holds the listing to it).
constexpr std::uint64_t kListedKey = 100;
// Of an object in the packed listing beside its strings: two lengths, size and time.
constexpr std::uint64_t kPackedObject = 24;
// Of an object's line in a receipt beside its strings: its counts, and a few files that it went to.
constexpr std::uint64_t kReceiptLine = std::uint64_t{1} << 10U;
// A read on its way and the piece that it becomes, beside their bytes.
constexpr std::uint64_t kReadState = std::uint64_t{1} << 10U;
// The receive buffer of a transfer, at most, and a connection with TLS.
constexpr std::uint64_t kTransfer = std::uint64_t{640} << 10U;

/// What a lane needs of its own because of the objects that it reads.
struct LaneNeeds {
  std::uint64_t decoder = 0;
  std::uint64_t record = 0;  // that does not lie in one chunk or window
};

Codec codec_of(const Settings& settings, std::string_view key) {
  return codec_of_setting(settings.given.compression).value_or(codec_of_key(key));
}

DecompressorOptions decompressor_options(const S3SourceOptions& given) {
  return {.zstd_window_log_max = static_cast<int>(given.zstd_window_log_max),
          .xz_memory_limit = given.xz_memory_limit.bytes};
}

LaneNeeds needs_of_all(const Listing& listing, const Settings& settings, const ReadChunks& chunks) {
  const S3SourceOptions& given = settings.given;
  const DecompressorOptions options = decompressor_options(given);
  std::vector<LaneNeeds> lanes(given.lanes);
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const ListedObject object = listing[i];
    if (!object.has_bytes()) continue;
    LaneNeeds& lane = lanes[i % lanes.size()];
    if (const Codec codec = codec_of(settings, object.key); codec != Codec::none) {
      lane.decoder = std::max(lane.decoder, decompressor_memory(codec, options));
      lane.record = given.max_record_bytes.bytes;
    } else if (object.size > chunks.read_bytes()) {
      lane.record = std::max(lane.record, std::min(object.size, given.max_record_bytes.bytes));
    }
  }
  LaneNeeds all;
  for (const LaneNeeds& lane : lanes) {
    all.decoder = bounded_sum(all.decoder, lane.decoder);
    all.record = bounded_sum(all.record, lane.record);
  }
  return all;
}

/// The largest that any object may ask for.
LaneNeeds needs_of_any(const Settings& settings) {
  const S3SourceOptions& given = settings.given;
  const DecompressorOptions options = decompressor_options(given);
  const std::optional<Codec> fixed = codec_of_setting(given.compression);
  LaneNeeds all;
  for (const Codec codec : kCodecs) {
    if (fixed.value_or(codec) != codec || !codec_is_built(codec)) continue;
    all.decoder = std::max(all.decoder, decompressor_memory(codec, options));
  }
  all.decoder = bounded_product(given.lanes, all.decoder);
  all.record = bounded_product(given.lanes, given.max_record_bytes.bytes);
  return all;
}

/// `needs`: of all lanes together. `reads`: how many of them a run makes, `reads_in_flight`: what the store likes, or
/// more.
void add_reading(const Settings& settings, const ReadChunks& chunks, const LaneNeeds& needs, std::uint64_t reads,
                 std::uint64_t reads_in_flight, std::vector<MemoryPart>& parts) {
  const S3SourceOptions& given = settings.given;
  const std::uint64_t lanes = given.lanes;
  const std::string each_lane = of_these(lanes, "lane") + " x ";
  const std::uint64_t chunk = chunks.read_bytes() + kChunkHeadroom + kBytePadding;
  const std::uint64_t pool = bounded_product(lanes, given.prefetch_bytes.bytes);
  // Reads out at a time: the pool in reads of the smallest charge, but no more than there are.
  const std::uint64_t out = std::min(reads, pool / chunks.charge_of(0) + lanes);
  const std::uint64_t large = std::min(reads, pool / chunks.read_bytes() + lanes);
  parts.push_back({"read ahead", pool,
                   fmt::format("{}prefetch_bytes ({})", each_lane, bytes_text(given.prefetch_bytes.bytes)),
                   DataStage::get});
  // A cut record is carried into the room in front of the next chunk; an object's last read may need that for itself.
  parts.push_back({"reads", bounded_sum(bounded_product(out, kReadState), bounded_product(2 * large, kChunkHeadroom)),
                   fmt::format("{} at a time, what stands around their bytes", of_these(out, "read")), DataStage::get});
  parts.push_back({"chunks at work", bounded_product(lanes, chunk),
                   fmt::format("{}the read of {} that is being framed", each_lane, bytes_text(chunks.read_bytes())),
                   DataStage::framing});
  parts.push_back({"windows", bounded_product(lanes, 2 * FrameReaderOptions{}.window_bytes),
                   fmt::format("{}decoded bytes ({}), and those before them", each_lane,
                               bytes_text(FrameReaderOptions{}.window_bytes)),
                   DataStage::codec});
  if (needs.record != 0) {
    parts.push_back({"long records", bounded_product(2, needs.record),
                     fmt::format("2 x one record in each lane that is put together from pieces (max_record_bytes, {})",
                                 bytes_text(given.max_record_bytes.bytes)),
                     DataStage::framing});
  }
  if (needs.decoder != 0) {
    parts.push_back({"decoders", needs.decoder,
                     "one in each lane with compressed objects, by their names (zstd_window_log_max, "
                     "xz_memory_limit)",
                     DataStage::codec});
  }
  if (settings.url.scheme == "s3") {
    const std::uint64_t requests = std::min<std::uint64_t>({given.requests_in_flight, reads_in_flight, reads});
    parts.push_back({"connections", bounded_product(requests, kTransfer),
                     fmt::format("{} x {} (requests_in_flight)", of_these(requests, "request"), bytes_text(kTransfer)),
                     DataStage::get});
  }
}

}  // namespace

std::uint64_t longest_record(const Listing& listing, const Settings& settings) {
  const std::uint64_t most = settings.given.max_record_bytes.bytes;
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const ListedObject object = listing[i];
    if (!object.has_bytes()) continue;
    if (codec_of(settings, object.key) != Codec::none) return most;
    longest = std::max(longest, object.size);
  }
  return std::min(longest, most);
}

std::vector<MemoryPart> source_memory(const Listing& listing, const Settings& settings, const ReadChunks& chunks,
                                      std::uint64_t reads, std::size_t reads_in_flight) {
  std::uint64_t keys = 0;
  std::uint64_t etags = 0;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    keys += listing[i].key.size();
    etags += listing[i].etag.size();
  }
  std::vector<MemoryPart> parts;
  parts.push_back(
      {"listing", keys + kListedKey * listing.size(),
       fmt::format("{} and their keys, {} bytes each beside them", of_these(listing.size(), "object"), kListedKey),
       DataStage::source});
  parts.push_back({"kept listing", 2 * (keys + etags + kPackedObject * listing.size()),
                   "twice what it comes to before it is compressed, to be kept beside the manifest",
                   DataStage::source});
  if (settings.receipt) {
    parts.push_back(
        {"receipt", 2 * (keys + etags + kReceiptLine * listing.size()),
         fmt::format("about: twice {} of {} and its key, to put it together; more where an object went to many files",
                     of_these(listing.size(), "line"), bytes_text(kReceiptLine)),
         DataStage::source});
  }
  add_reading(settings, chunks, needs_of_all(listing, settings, chunks), reads, reads_in_flight, parts);
  return parts;
}

std::vector<MemoryPart> source_memory(const Settings& settings, const ReadChunks& chunks) {
  using Each = MemoryPart::Each;
  constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();
  std::vector<MemoryPart> parts;
  parts.push_back({"listing", kListedKey, "beside its key", DataStage::source, Each::object});
  parts.push_back({"kept listing", 2 * kPackedObject,
                   "beside twice its key and its ETag, to be kept beside the manifest", DataStage::source,
                   Each::object});
  if (settings.receipt) {
    parts.push_back({"receipt", 2 * kReceiptLine,
                     "about, beside twice its key and its ETag, to put it together; more where an object went to many "
                     "files",
                     DataStage::source, Each::object});
  }
  add_reading(settings, chunks, needs_of_any(settings), kAnyNumber, kAnyNumber, parts);
  return parts;
}

}  // namespace millrace::s3_source
