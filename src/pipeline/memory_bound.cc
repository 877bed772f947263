// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "millrace/base/bounded.h"
#include "millrace/base/figures.h"
#include "millrace/encode/columnar.h"
#include "millrace/encode/dead_letter.h"
#include "millrace/sink/open_file.h"

namespace millrace {
namespace {

// Code, libraries, allocator and threads of a process that reads one small file: 20 MiB were measured, and the
// allocator keeps some of what it is given back.
constexpr std::uint64_t kProcess = std::uint64_t{24} << 20U;
// A batch of acknowledgements on its way: its node, its place in the ring and in the queue.
constexpr std::uint64_t kPendingBatch = 192;
// What a client library buffers of one write.
constexpr std::uint64_t kWriterBuffer = std::uint64_t{1} << 20U;
// A sealed batch that holds nothing (SinkQueue counts as much).
constexpr std::uint64_t kEmptyBatch = 512;
// An open file beside its bytes: its names, its places in the lane's books.
constexpr std::uint64_t kOpenFile = std::uint64_t{2} << 10U;
// That a file answers for a batch: a pointer, in a vector that doubles.
constexpr std::uint64_t kAnswer = 16;
// What stands around one record in a wrapper.
constexpr std::uint64_t kWrapper = std::uint64_t{1} << 10U;

// What a store takes as a key, and so the name of an object, of a stream, of a topic.
constexpr std::uint64_t kLongestName = std::uint64_t{1} << 10U;

/// The largest number of bytes that escaping makes of one: \u001f.
constexpr std::uint64_t kEscape = 6;

/// What one payload becomes before it is encoded. A row becomes an object: its fields, and the names in the header,
/// which is no longer than a row may be, are escaped; a name takes two quotes, a colon and a comma, and an empty field
/// two quotes or null, in place of a delimiter.
std::uint64_t decoded(const DecodeOptions& decode, std::uint64_t payload) {
  if (decode.kind != DecodeOptions::Kind::csv) return payload;
  return bounded_sum(bounded_product(2 * kEscape, payload), 2 * kEscape);
}

bool is_json(EncodeFormat format) {
  return format == EncodeFormat::json_lines || format == EncodeFormat::json_array || format == EncodeFormat::rows;
}

bool passes_bytes(const DecodeOptions& decode) {
  return decode.kind == DecodeOptions::Kind::none || decode.kind == DecodeOptions::Kind::raw;
}

/// What one payload becomes as it is written; `record`: decoded and transformed.
std::uint64_t encoded(const DecodeOptions& decode, const EncodeSpec& spec, std::uint64_t record) {
  if (spec.format == EncodeFormat::discard) return 0;
  if (spec.format == EncodeFormat::raw) return bounded_sum(record, spec.delimiter.size());
  // Key and headers come on top of the value, and all of it is bounded by what the destination takes.
  if (spec.format == EncodeFormat::framed)
    return bounded_sum(spec.max_record_bytes != 0 ? spec.max_record_bytes : record, kWrapper);
  if (decode.kind == DecodeOptions::Kind::text) return bounded_sum(bounded_product(kEscape, record), kWrapper);
  // Bytes that are no JSON become base64, in groups of three.
  const std::uint64_t bytes = passes_bytes(decode) ? bounded_product(4, record / 3 + 1) : record;
  return bounded_sum(bytes, kWrapper);
}

/// What a lane keeps beside one payload to look into it, at most, whatever the payload holds.
std::uint64_t to_decode(const DecodeOptions& decode, const EncodeSpec& spec, std::uint64_t payload) {
  using Kind = DecodeOptions::Kind;
  // A vector that grows has its old half beside the new whole.
  constexpr std::uint64_t kGrowing = 3;
  if (spec.format == EncodeFormat::rows) {
    // A row is looked into as it is written: a copy of it and the places of its tokens; its texts without their
    // escapes, and what goes into _extra, in a buffer that grows by half.
    const std::uint64_t record = decoded(decode, payload);
    const std::uint64_t row = bounded_product(13, std::max<std::uint64_t>(record, std::uint64_t{8} << 10U));
    EncodeSpec lines = spec;
    lines.format = EncodeFormat::json_lines;
    return bounded_sum(row, to_decode(decode, lines, payload));
  }
  if (decode.kind == Kind::csv) {
    // A field for each delimiter; the row as an object, in a buffer that grows by half; the names of the header.
    const std::uint64_t fields = bounded_product(kGrowing * sizeof(CsvField), bounded_sum(payload, 1));
    return bounded_sum(fields, bounded_product(3, decoded(decode, payload)));
  }
  if (decode.kind != Kind::json && !(passes_bytes(decode) && is_json(spec.format))) return 0;
  // The places of the tokens (JsonTokens), four bytes each, for up to twice as many bytes as the longest document has.
  std::uint64_t all = bounded_product(8, std::max<std::uint64_t>(payload, std::uint64_t{8} << 10U));
  if (decode.kind != Kind::json) return all;
  // An element for each two bytes ("1,").
  if (decode.framing == decode::JsonFraming::array) {
    all = bounded_sum(all, bounded_product(kGrowing * sizeof(decode::Json), payload / 2 + 1));
  }
  // A key for each five bytes (`"":1,`), 32 bytes of JsonKeys each, and the keys without their escapes.
  if (decode.reject_duplicate_keys) {
    all = bounded_sum(all, bounded_sum(bounded_product(kGrowing * 32, payload / 5 + 1), payload));
  }
  return all;
}

/// What one payload becomes as a dead letter: escaped text is longer than base64; its object, the error and the stage
/// stand beside it.
std::uint64_t as_letter(const EncodeSpec& spec, std::uint64_t payload) {
  constexpr std::uint64_t kBeside = kWrapper + kEscape * (kLongestDeadLetterError + kLongestName);
  if (spec.format == EncodeFormat::discard) return 0;
  if (spec.format == EncodeFormat::raw) return bounded_sum(payload, spec.delimiter.size());
  return bounded_sum(bounded_product(kEscape, payload), kBeside);
}

/// A file that ends by what is in it alone cannot make room early.
bool has_budget(const SealPolicy& policy) { return policy.open_bytes != 0 && !policy.by_content; }

/// A file or chunk of a sink whose longest record is `record` bytes, as written.
struct ChunkBound {
  ChunkBound(const SealPolicy& policy, const EncodeSpec& spec, std::uint64_t record)
      // A chunk is sealed behind the record with which it meets a limit. A record of which a part is not counted has
      // one byte at least that is.
      : limit(policy.max_bytes != 0 ? bounded_product(policy.max_bytes, 1 + policy.uncounted)
                                    : bounded_product(policy.max_records, record)) {
    whole = spec.format == EncodeFormat::discard ? 0 : bounded_sum(limit, record);
    // Of a larger one, what lies in memory: the rest is spilled, or it was sealed early.
    most = has_budget(policy) ? std::min(whole, bounded_sum(policy.open_bytes, record)) : whole;
  }
  std::uint64_t limit = 0;
  std::uint64_t whole = 0;  ///< wherever it lies
  std::uint64_t most = 0;   ///< in memory; 0: it holds no bytes
};

/// How many lanes there are, or one of them where that is not known.
struct LaneCount {
  explicit LaneCount(std::optional<std::uint64_t> lanes)
      : count(lanes.value_or(1)),
        text(lanes ? of_these(*lanes, "lane") : "lanes"),
        each(lanes ? MemoryPart::Each::run : MemoryPart::Each::lane) {}
  std::uint64_t count;
  std::string text;  ///< "4 lanes", "lanes"
  MemoryPart::Each each;
};

/// What lanes and writers of one sink hold, but for what is sealed. `payload`: the longest as it is looked into;
/// `record`: as it is written; `expands`: a payload may be many of them. `of`: empty, or which sink it is.
void add_sink(const PipelineOptions& options, bool expands, const Sink& sink, std::string_view of,
              const ChunkBound& chunk, std::uint64_t payload, std::uint64_t record, const LaneCount& lanes,
              std::vector<MemoryPart>& parts) {
  const SealPolicy policy = sink.seal_policy();
  const std::uint64_t writers = std::max<std::size_t>(sink.traits().concurrency, 1);
  const auto add = [&](std::string_view what, std::uint64_t bytes, std::string why, MemoryPart::Each each) {
    parts.push_back({std::string(of) + std::string(what), bytes, std::move(why), DataStage::seal, each});
  };
  if (policy.compression.codec != Codec::none) {
    const std::uint64_t each = compressor_memory(policy.compression, bounded_sum(kPackedBlock, record));
    add("compressors", bounded_product(lanes.count, each),
        fmt::format("one in each lane ({}, compression_level)", to_string(policy.compression.codec)), lanes.each);
  }
  const auto is_field = [](const RouteSpec::Part& part) { return part.from == RouteSpec::Part::From::field; };
  if (const RouteSpec route = sink.route_spec(); std::ranges::any_of(route.parts, is_field)) {
    // A copy of the document, and the places of its tokens (JsonTokens).
    add("routing",
        bounded_product(lanes.count, bounded_product(9, std::max<std::uint64_t>(payload, std::uint64_t{8} << 10U))),
        fmt::format("{} x the JSON tokens of a record of {}, which is looked into for {{field.NAME}}", lanes.text,
                    bytes_text(payload)),
        lanes.each);
  }
  if (chunk.most != 0) {
    const std::string of_a_chunk =
        fmt::format("{} and one record more, {} as written", bytes_text(chunk.limit), bytes_text(record));
    const bool kept_apart = policy.boundary != SealPolicy::Boundary::none || policy.routed;
    const std::uint64_t files = kept_apart ? std::max<std::size_t>(policy.max_open, 1) : 1;
    const std::uint64_t open = bounded_product(lanes.count, bounded_product(files, chunk.most));
    // A lane looks at the budget between two batches.
    const std::uint64_t budget = bounded_sum(policy.open_bytes, bounded_product(lanes.count, chunk.most));
    if (has_budget(policy) && lanes.each == MemoryPart::Each::lane) {
      add("open output", policy.open_bytes,
          fmt::format("{} of open files (buffer_memory)", bytes_text(policy.open_bytes)), MemoryPart::Each::run);
      add("open output beyond", chunk.most, fmt::format("{} x one of {}", lanes.text, of_a_chunk), lanes.each);
    } else if (has_budget(policy) && budget < open) {
      add("open output", budget,
          fmt::format("{} of open files (buffer_memory), and {} x one of {}", bytes_text(policy.open_bytes), lanes.text,
                      of_a_chunk),
          lanes.each);
    } else {
      add("open output", open,
          fmt::format("{} x {} of {}", lanes.text, files == 1 ? "a file or chunk" : fmt::format("{} files", files),
                      of_a_chunk),
          lanes.each);
    }
    if (kept_apart) {
      const std::uint64_t of_a_batch = expands ? files : std::min<std::uint64_t>(files, options.max_poll_records);
      const std::uint64_t answers = bounded_product(options.max_pending_batches, bounded_product(of_a_batch, kAnswer));
      add("books of open files", bounded_product(lanes.count, bounded_sum(bounded_product(files, kOpenFile), answers)),
          fmt::format("{} x {} (max_open_files), each with the batches that it answers for", lanes.text,
                      of_these(files, "file")),
          lanes.each);
    }
    // A written buffer is kept when it has no more than twice the usual size (SinkQueue).
    const std::uint64_t kept = std::min(chunk.most, bounded_product(2, chunk.limit));
    add("spare output", bounded_product(2 * writers, kept), fmt::format("{} buffers for the next chunks", 2 * writers),
        MemoryPart::Each::run);
  }
}

/// Of files in columns, what a writer holds of one while it makes and sends it.
void add_conversions(const Sink& sink, const ChunkBound& chunk, std::uint64_t record, std::vector<MemoryPart>& parts) {
  const std::uint64_t writers = std::max<std::size_t>(sink.traits().concurrency, 1);
  const std::uint64_t group = bounded_sum(sink.traits().writer_memory, bounded_product(kColumnarLineMemory, record));
  // A value of few digits is wider in memory than as text; and each column has a head in each row group.
  constexpr std::uint64_t kHeads = std::uint64_t{4} << 20U;
  // What finds no room in a spool that has a limit stays in memory.
  const bool spills = !sink.seal_policy().spool_dir.empty() && sink.seal_policy().spool_limit == 0;
  const std::uint64_t made = spills ? kConvertedInMemory : bounded_sum(bounded_product(2, chunk.whole), kHeads);
  parts.push_back(
      {"files in columns", bounded_product(writers, bounded_sum(group, made)),
       fmt::format("{} x a row group being made (parquet.row_group_size), and {}", of_these(writers, "writer"),
                   spills ? fmt::format("{} of a file, which goes to spool_dir", bytes_text(made))
                          : fmt::format("a file that is whole, {} (less with spool_dir, and no spool_limit)",
                                        bytes_text(made))),
       DataStage::write});
}

void add_writers(const Sink& sink, std::string_view of, std::vector<MemoryPart>& parts) {
  const std::uint64_t writers = std::max<std::size_t>(sink.traits().concurrency, 1);
  // Of files in columns add_conversions has told it.
  const bool told = sink.encode_spec().format == EncodeFormat::rows;
  const std::uint64_t each = bounded_sum(kWriterBuffer, told ? 0 : sink.traits().writer_memory);
  parts.push_back({std::string(of) + "writers", bounded_product(writers, each),
                   fmt::format("{}, {} each", of_these(writers, "writer"), bytes_text(each)), DataStage::write});
}

}  // namespace

std::vector<MemoryPart> memory_bound(const PipelineOptions& options, const DecodeOptions& decode, const Sink& sink,
                                     const Sink* letters, std::optional<std::uint64_t> lane_count,
                                     std::uint64_t longest_record, const ops::TransformProgram& transforms) {
  constexpr std::string_view kOfLetters = "dead letters: ";
  const LaneCount lanes(lane_count);
  const EncodeSpec spec = sink.encode_spec();
  const std::uint64_t document = decoded(decode, longest_record);
  const std::uint64_t transformed = transforms.grown(document);
  const std::uint64_t record = encoded(decode, spec, transformed);
  const ChunkBound chunk(sink.seal_policy(), spec, record);

  // A payload may become records of every file.
  const bool expands = (decode.kind == DecodeOptions::Kind::json && decode.framing == decode::JsonFraming::array) ||
                       transforms.may_multiply();
  std::vector<MemoryPart> parts;
  parts.push_back({"program", kProcess, "code, libraries, threads"});
  const auto add = [&parts, &lanes](std::string what, DataStage stage, std::uint64_t each, std::string why) {
    parts.push_back({std::move(what), bounded_product(lanes.count, each), std::move(why), stage, lanes.each});
  };
  add("positions", DataStage::ack, bounded_product(options.max_pending_batches, kPendingBatch),
      fmt::format("{} x {} batches that wait for their writes (checkpoint.max_pending_batches)", lanes.text,
                  options.max_pending_batches));
  // Encoders that look into a record see what the transforms made of it.
  const std::uint64_t looked_into = std::max(longest_record, transforms.empty() ? 0 : transformed);
  if (const std::uint64_t each = to_decode(decode, spec, looked_into); each != 0) {
    const std::string_view what = decode.kind == DecodeOptions::Kind::csv ? "fields of a row" : "JSON tokens";
    add("decoding", DataStage::decode, each,
        fmt::format("{} x the {}, were a record of {} made of nothing else", lanes.text, what,
                    bytes_text(looked_into)));
  }
  if (const std::uint64_t each = transforms.held(document); each != 0) {
    add("transforms", DataStage::transforms, each,
        fmt::format("{} x what a record of {} takes on its way to {} at most", lanes.text, bytes_text(document),
                    bytes_text(transformed)));
  }
  // What becomes several records waits here until the last of them is made, in a buffer that grows by half.
  if (transforms.may_multiply()) {
    add("staged output", DataStage::encode, bounded_product(3, record),
        fmt::format("{} x the records that one record becomes (jq)", lanes.text));
  }
  add_sink(options, expands, sink, "", chunk, transformed, record, lanes, parts);
  std::uint64_t batches = chunk.most;
  if (letters != nullptr) {
    const EncodeSpec letter_spec = letters->encode_spec();
    const std::uint64_t letter = as_letter(letter_spec, longest_record);
    const ChunkBound letter_chunk(letters->seal_policy(), letter_spec, letter);
    add_sink(options, false, *letters, kOfLetters, letter_chunk, longest_record, letter, lanes, parts);
    std::uint64_t longest = letter_chunk.most;
    if (sink.retry_policy().on_failure == OnWriteFailure::drop && chunk.whole != 0) {
      const std::uint64_t writers = std::max<std::size_t>(sink.traits().concurrency, 1);
      const std::uint64_t given_up = as_letter(letter_spec, chunk.whole);
      parts.push_back(
          {std::string(kOfLetters) + "files given up", bounded_product(writers, given_up),
           fmt::format("{} x a file or chunk as a letter (the sink may drop it)", of_these(writers, "writer")),
           DataStage::write});
      longest = std::max(longest, given_up);
    }
    batches = bounded_sum(batches, longest);
  }
  if (batches == 0) {
    const std::uint64_t waiting =
        bounded_product(lanes.count, bounded_product(options.max_pending_batches, kEmptyBatch));
    parts.push_back({"sealed output", std::min<std::uint64_t>(options.max_inflight_bytes, waiting),
                     fmt::format("{} x {} batches without bytes", lanes.text, options.max_pending_batches),
                     DataStage::seal, lanes.each});
  } else {
    parts.push_back({"sealed output", bounded_sum(options.max_inflight_bytes, batches),
                     fmt::format("pipeline.max_inflight_bytes ({}), and one batch more{}",
                                 bytes_text(options.max_inflight_bytes), letters == nullptr ? "" : " of each sink"),
                     DataStage::seal});
  }
  if (spec.format == EncodeFormat::rows) add_conversions(sink, chunk, record, parts);
  add_writers(sink, "", parts);
  if (letters != nullptr) add_writers(*letters, kOfLetters, parts);
  return parts;
}

}  // namespace millrace
