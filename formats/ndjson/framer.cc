// SPDX-License-Identifier: Apache-2.0
#include "formats/ndjson/framer.h"

namespace millrace::ndjson {

std::unique_ptr<Framer> make_ndjson_framer(const FramerOptions& options) {
  return std::make_unique<NdjsonFramer>(options);
}

}  // namespace millrace::ndjson
