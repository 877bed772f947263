// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/formats.h"

namespace millrace::encode {

Result<void> JsonFormat::write_bytes(const decode::Bytes& bytes, ByteBuffer& out, bool& base64) {
  decode::Json document;
  if (checker_.check(bytes.view, bytes.readable_padding, document)) {
    splice(document, out);
    return {};
  }
  if (!wrap_) {
    return fail(Error(checker_.error()).prefixed("the record must be JSON to be written without a wrapper: "));
  }
  base64 = true;
  out.push_back('"');
  append_base64(out, bytes.view);
  out.push_back('"');
  return {};
}

}  // namespace millrace::encode
