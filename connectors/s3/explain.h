// SPDX-License-Identifier: Apache-2.0
// Explanation: how the objects of an S3 sink will be called, when each ends, and which of them could ever share a key:
// what `millrace explain` tells. Pure; opens nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/s3/sink_options.h"
#include "millrace/base/error.h"
#include "millrace/pipeline/plan.h"

namespace millrace::s3_sink {

/// Of each file whose key is told.
inline constexpr std::int64_t kExampleRecords = 1000;

struct Explanation {
  struct NamedKey {
    std::string what;  ///< "the next file of it"
    std::string key;   ///< empty when none can be made
    std::string why_not;
  };
  /// Two files, of two sources, that would have one key.
  struct Shared {
    std::string one;
    std::string other;
    std::string key;
    std::string way_out;
  };
  /// Records of the sample that go to one file.
  struct Group {
    std::uint64_t records = 0;
    std::uint64_t first = 0;  ///< line of the first, from 1
    std::string key;
    std::string why_not;
  };

  std::string place;  ///< where keys are below: "s3://bucket"
  std::string path_template;
  std::vector<std::pair<std::string, std::string>> variables;  ///< as written, and where their values come from
  std::vector<NamedKey> keys;
  std::vector<std::string> ends;  ///< a file ends ...
  std::vector<std::string> notes;
  std::vector<std::string> limits;
  std::vector<Shared> shared;
  bool has_records = false;
  std::vector<Group> records;
  std::map<ErrorCode, std::uint64_t> fallbacks;
  std::vector<std::string> bad_records;  ///< on_missing_field fail

  /// Everything that was asked about has a key.
  [[nodiscard]] bool ok() const noexcept;
};

[[nodiscard]] Explanation explain(const S3SinkOptions& options, const CheckedOptions& checked,
                                  const std::string& pipeline, const ExplainRequest& request);
[[nodiscard]] std::string explanation_text(const Explanation& explanation);
[[nodiscard]] std::string explanation_json(const Explanation& explanation);

}  // namespace millrace::s3_sink
