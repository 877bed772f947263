// SPDX-License-Identifier: Apache-2.0
#include "cli/letter_sizes.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "millrace/connectors/iggy.h"
#ifdef MILLRACE_HAS_KAFKA
#include "millrace/connectors/kafka.h"
#endif
#include "millrace/connectors/s3.h"

namespace millrace::cli {
namespace {

/// Of one sink; 0: no limit, and nothing that is given up.
struct Sizes {
  std::uint64_t record = 0;    ///< the largest that it takes
  std::uint64_t given_up = 0;  ///< the most that becomes one letter
  const char* given_up_as = "";
};

/// A topic's batches hold whole records, the last of which may pass batch_bytes.
template <class Options>
Sizes sizes_of_topic(const Options& options) {
  const bool drops = options.on_write_failure == OnWriteFailure::drop;
  const std::uint64_t batch = options.batch_bytes.bytes + options.max_record_bytes.bytes;
  return {options.max_record_bytes.bytes, drops ? batch : 0,
          "a batch that is given up (on_write_failure: drop; batch_bytes and one record)"};
}

Result<Sizes> sizes_of(const SinkKind& kind, const ConfigSection& section) {
#ifdef MILLRACE_HAS_KAFKA
  if (kind.name == "kafka") {
    MILLRACE_ASSIGN(const KafkaSinkOptions options, KafkaSink::schema().parse(section));
    return sizes_of_topic(options);
  }
#endif
  if (kind.name == "iggy") {
    MILLRACE_ASSIGN(const IggySinkOptions options, IggySink::schema().parse(section));
    return sizes_of_topic(options);
  }
  if (kind.name != "s3") return Sizes{};
  MILLRACE_ASSIGN(const S3SinkOptions options, S3Sink::schema().parse(section));
  const bool drops = options.on_upload_failure == OnWriteFailure::drop;
  return Sizes{0, drops ? options.max_file_size.bytes : 0,
               "a file that is given up (on_upload_failure: drop; max_file_size)"};
}

/// Bytes that are no text become base64, text has quotes that are escaped; where it came from, and why it is a letter,
/// stand beside it.
std::uint64_t as_letter(std::uint64_t bytes) {
  constexpr std::uint64_t kBeside = 16U << 10U;
  return 4 * (bytes / 3 + 1) + kBeside;
}

}  // namespace

Result<void> check_letter_sizes(const PipelineConfig& config) {
  if (config.dead_letter == nullptr) return {};
  MILLRACE_ASSIGN(const Sizes sink, sizes_of(*config.sink, config.sink_section));
  MILLRACE_ASSIGN(const Sizes letters, sizes_of(*config.dead_letter, config.dead_letter_section));
  if (letters.record == 0) return {};
  std::pair<std::uint64_t, std::string> largest{0, ""};
  if (config.decode.on_error == OnError::skip && sink.record != 0)
    largest = {sink.record, "a record that is too large for the sink (max_record_bytes)"};
  if (sink.given_up > largest.first) largest = {sink.given_up, sink.given_up_as};
  if (largest.first == 0 || letters.record >= as_letter(largest.first)) return {};
  return fail(Error::config(fmt::format(
      "max_record_bytes: {} is too little: {}, {} bytes, becomes a letter that is a third larger, and one that is too "
      "large in turn ends each run; set it to {} or more, and let the topic take as much, or lower the sink's limit",
      letters.record, largest.second, largest.first, as_letter(largest.first))));
}

}  // namespace millrace::cli
