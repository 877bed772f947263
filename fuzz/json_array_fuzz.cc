// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any chunks: a sound array gives its elements; of what is none either the framer says so or one of the
// elements that it cuts is no JSON, so that the decoder does. The first byte is the chunk size, the second the
// headroom.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "decode/strict_json.h"
#include "formats/json_array/array_model.h"
#include "formats/json_array/framer.h"
#include "fuzz/framed_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  constexpr int kMaxDepth = 1000;
  if (size < 2) return 0;
  const std::string object(reinterpret_cast<const char*>(data + 2), size - 2);
  const fuzz::FramedObject got =
      fuzz::framed_object(json_array::make_json_array_framer({}), object, std::size_t{1} + data[0], data[1]);

  std::string_view text = object;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool blank = first == std::string_view::npos;
  const bool sound = !blank && text[first] == '[' && StrictJson(text, kMaxDepth + 1).is_document();
  if (blank || sound) {
    if (got.error || got.records != json_array::model_of_array(text)) std::abort();
    return 0;
  }
  if (got.error) return 0;
  for (const std::string& element : got.records) {
    if (!StrictJson(element, kMaxDepth).is_document()) return 0;
  }
  std::abort();
}
