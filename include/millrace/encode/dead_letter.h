// SPDX-License-Identifier: Apache-2.0
// DeadLetterFormat: how a record that was skipped is kept: one JSON object with its bytes, where it came from and why
// it was skipped (docs/formats/dead_letter.md), or its bytes alone where the sink writes raw. A pure function of the
// record and its error, so that a replay writes the same bytes. One per lane, on its thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/encode/json_wrapper.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Bytes of an error's text that are kept.
inline constexpr std::size_t kLongestDeadLetterError = 4096;

/// Of a letter that holds a batch which its sink gave up: what it says beside the first record's coordinates.
struct LostBatch {
  Offset last;
  std::uint64_t records = 0;
  std::string_view sink;
};

/// What is kept of one record beside its coordinates. Borrowed for the call.
struct DeadLetter {
  std::string_view stage;  ///< "stage 1 (decode json)"
  ErrorCode reason{};
  std::string_view error;
  std::string_view payload;          ///< of the source record, as it came; of a batch, as it was to be written
  const LostBatch* batch = nullptr;  ///< null: of a record
};

class DeadLetterFormat {
 public:
  explicit DeadLetterFormat(const EncodeSpec& spec);

  /// Appends one letter, with what ends it: a newline, the delimiter of raw; framed, with the record's key and headers.
  void append(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out);

 private:
  static void append_place(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out);
  void append_object(const DeadLetter& letter, const RecordMeta& meta, ByteBuffer& out);

  const EncodeSpec spec_;
  JsonWrapper wrapper_;
  ByteBuffer object_;  ///< of a letter that is framed
};

}  // namespace millrace
#pragma GCC visibility pop
