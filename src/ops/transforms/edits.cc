// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/edits.h"

#include <cstring>

namespace millrace::transforms {

void Edits::apply(std::string_view document, ByteBuffer& out) const {
  const std::size_t size = new_size(document.size());
  out.clear();
  char* to = out.grow(size + kBytePadding);
  const auto put = [&to](const char* from, std::size_t count) {
    if (count != 0) std::memcpy(to, from, count);
    to += count;
  };
  std::size_t at = 0;
  std::size_t text = 0;
  for (const Edit& edit : edits_) {
    put(document.data() + at, edit.begin - at);
    put(texts_.data() + text, edit.text_end - text);
    at = edit.end;
    text = edit.text_end;
  }
  put(document.data() + at, document.size() - at);
  std::memset(to, ' ', kBytePadding);
  out.truncate(size);
}

}  // namespace millrace::transforms
