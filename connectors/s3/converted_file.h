// SPDX-License-Identifier: Apache-2.0
// ConvertedFile: a file that was made of a sealed one, until it is written. Its beginning goes to disk where there is a
// spool, so that it needs no memory of its size. Belongs to one I/O thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/sink/spill_file.h"

namespace millrace::s3_sink {

class ConvertedFile {
 public:
  /// `spool`: null for none. `in_memory`: bytes that are held before some go there.
  ConvertedFile(Spool* spool, std::size_t in_memory) : spool_(spool), in_memory_(in_memory) {}

  void append(std::string_view piece);
  /// All of it, valid as long as this is. Nothing is appended behind it.
  [[nodiscard]] Result<std::string_view> body();

 private:
  Spool* spool_;
  const std::size_t in_memory_;
  std::unique_ptr<SpillFile> spilled_;
  ByteBuffer bytes_;
};

}  // namespace millrace::s3_sink
