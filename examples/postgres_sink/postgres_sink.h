// SPDX-License-Identifier: Apache-2.0
// A sink that loads records into a table of PostgreSQL, each exactly once: a batch and the position behind it are one
// transaction. The chain encodes one JSON document a line (encode::json_lines).
#pragma once

#include <millrace/sink/sink.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

struct PostgresSinkOptions {
  /// As libpq takes it: "postgresql://user@host/database", or "host=... dbname=...". No message holds its password.
  std::string connection{};
  std::string table{};          ///< one that is there; without its schema, which goes by the search_path
  std::string column = "data";  ///< of type jsonb, json or text; the others have defaults
  std::size_t writers = 2;      ///< connections that load side by side, each other partitions
  millrace::Duration max_age = std::chrono::milliseconds(250);  ///< a record waits so long for others
};

class PostgresSink {
 public:
  [[nodiscard]] static millrace::Result<std::unique_ptr<millrace::Sink>> make(PostgresSinkOptions options);
};
