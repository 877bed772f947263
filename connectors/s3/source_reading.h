// SPDX-License-Identifier: Apache-2.0
// What the tests of reading share: one object, read by one lane in small reads. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {

using Lines = std::vector<std::string>;

class Reading : public SourceTest {
 protected:
  /// The records of one object, read by one lane in reads of `chunk` bytes.
  Lines read(const std::string& name, std::string bytes, std::size_t chunk = 64,
             const std::function<void(S3SourceOptions&)>& change = {}, const std::string& content_encoding = "") {
    memory = std::make_shared<testing::MemoryStore>();
    memory->set(name, std::move(bytes), {.content_encoding = content_encoding});
    rig = std::make_unique<BackfillRig>(memory);
    rig->options.lanes = 1;
    rig->options.chunk_bytes = {chunk};
    rig->options.prefetch_bytes = {4 * chunk};
    if (change) change(rig->options);
    result = rig->run();
    Lines lines;
    for (const Record& record : rig->records) lines.push_back(record.bytes);
    return lines;
  }
  std::string problem() { return message_of(result); }
  void expect_problem(const std::vector<std::string>& parts) {
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is_fatal());
    for (const auto& part : parts) EXPECT_NE(problem().find(part), std::string::npos) << part << " in " << problem();
    EXPECT_FALSE(stored().complete);
  }
  std::unique_ptr<BackfillRig> rig;
  Result<void> result;
};

}  // namespace millrace::s3_source
