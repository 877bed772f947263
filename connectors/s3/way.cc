// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/way.h"

#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "connectors/s3/codec_choice.h"
#include "connectors/s3/plan_memory.h"
#include "connectors/s3/read_chunks.h"
#include "millrace/base/figures.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::string reads_text(const Settings& settings, const ReadChunks& chunks) {
  const S3SourceOptions& given = settings.given;
  std::string text = fmt::format("s3 source {}", printable_key(settings.url.to_string()));
  if (given.shard) text += fmt::format(", shard {}", Shard{given.shard->index, given.shard->count}.describe());
  return text + fmt::format("; reads of {} at most, {} at a time (requests_in_flight)", bytes_text(chunks.read_bytes()),
                            given.requests_in_flight);
}

std::string codecs_text(ObjectCodec setting) {
  if (setting == ObjectCodec::none) return "none: bytes as they are stored (compression)";
  if (setting != ObjectCodec::auto_detect) return fmt::format("{} (compression)", name_of(setting));
  std::string text;
  for (const Codec codec : kCodecs) {
    if (codec_is_built(codec)) text += fmt::format("{}, ", to_string(codec));
  }
  return text + "none: by name, Content-Encoding and first bytes (compression: auto)";
}

}  // namespace

SourceWay way_of(const Settings& settings) {
  const S3SourceOptions& given = settings.given;
  // No store is asked what it likes; it cannot like more than this.
  const ReadChunks chunks(given.lanes, given.prefetch_bytes.bytes, given.chunk_bytes.bytes,
                          {.read_bytes = std::numeric_limits<std::size_t>::max()});
  std::string kept = "manifest " + printable_key(settings.checkpoint_url.to_string());
  if (settings.receipt) kept += ", receipt " + printable_key(settings.receipt_url.to_string());
  SourceWay way;
  way.rows = {
      {.stage = DataStage::get, .here = reads_text(settings, chunks), .thread = "fetch I/O", .threads = 1},
      {.stage = DataStage::codec, .here = codecs_text(given.compression), .thread = "lane", .threads = given.lanes},
      {.stage = DataStage::framing,
       .here = fmt::format("{} (format), records of {} at most (max_record_bytes)", given.format,
                           bytes_text(given.max_record_bytes.bytes)),
       .thread = "lane",
       .threads = given.lanes},
      {.stage = DataStage::source,
       .here = fmt::format("{} (lanes), to which the objects that are listed are dealt in turn",
                           of_these(given.lanes, "lane")),
       .thread = "lane",
       .threads = given.lanes},
      {.stage = DataStage::commit, .here = std::move(kept), .thread = "manifest I/O", .threads = 1},
  };
  way.memory = source_memory(settings, chunks);
  way.lanes = given.lanes;
  way.longest_record = given.max_record_bytes.bytes;
  way.record_option = "max_record_bytes";
  return way;
}

}  // namespace millrace::s3_source

namespace millrace::s3_sink {

std::string place_of(const CheckedOptions& options) {
  std::string prefix = options.base.to_string();
  if (!prefix.ends_with('/')) prefix += '/';
  std::string text = fmt::format("s3 sink puts objects below {}", printable_key(prefix));
  if (options.may_need_parts()) {
    text += fmt::format(", above {} in parts (multipart_threshold)", bytes_text(options.as.multipart_threshold));
  }
  if (options.delivery == Delivery::exactly_once) text += "; delivery: exactly_once";
  return text;
}

}  // namespace millrace::s3_sink
