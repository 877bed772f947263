// SPDX-License-Identifier: Apache-2.0
// What zlib makes of a gzip stream, for tests and fuzz targets.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace::codec {

struct ZlibDecoded {
  std::string bytes;  // of all members, up to the end or the first damage
  std::string damage;
};

inline ZlibDecoded zlib_decoded(const std::string& compressed) {
  ZlibDecoded decoded;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return decoded;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string room(64U << 10U, '\0');
  int code = Z_OK;
  while (code == Z_OK || (code == Z_STREAM_END && stream.avail_in != 0)) {
    if (code == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    code = inflate(&stream, Z_NO_FLUSH);
    decoded.bytes.append(room, 0, room.size() - stream.avail_out);
  }
  if (stream.msg != nullptr) decoded.damage = stream.msg;
  inflateEnd(&stream);
  return decoded;
}

/// True when `bytes`, decoded by somebody else up to damage, holds nothing that zlib did not find. The one exception: a
/// block whose code tables zlib refuses, and the other decodes as far as it can.
inline bool agrees_with_zlib(std::string_view bytes, const ZlibDecoded& zlib) {
  const bool refused_tables =
      zlib.damage.find(" set") != std::string::npos || zlib.damage.find("repeat") != std::string::npos ||
      zlib.damage.find("symbols") != std::string::npos || zlib.damage.find("end-of-block") != std::string::npos;
  if (refused_tables) bytes = bytes.substr(0, std::min(bytes.size(), zlib.bytes.size()));
  return zlib.bytes.starts_with(bytes);
}

}  // namespace millrace::codec
