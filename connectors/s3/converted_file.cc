// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/converted_file.h"

#include <utility>

namespace millrace::s3_sink {

void ConvertedFile::append(std::string_view piece) {
  bytes_.append(piece);
  if (spool_ == nullptr || bytes_.size() < in_memory_) return;
  if (!spilled_) spilled_ = spool_->create();
  // A spool that is full holds nothing up: what does not fit stays here.
  if (spilled_->append(bytes_.view())) {
    bytes_.clear();
  } else {
    spool_ = nullptr;
  }
}

Result<std::string_view> ConvertedFile::body() {
  if (!spilled_ || spilled_->size() == 0) return bytes_.view();
  MILLRACE_ASSIGN(const std::string_view all, spilled_->map(bytes_.view()));
  bytes_ = ByteBuffer();
  return all;
}

}  // namespace millrace::s3_sink
