// SPDX-License-Identifier: Apache-2.0
// Any bytes as a server's description of streams, topics, groups, offsets, nodes and what it has taken, in either
// layout; the first byte says which.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "connectors/iggy_client/replies.h"
#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::iggy;
  if (size == 0) return 0;
  const Layout& layout = (data[0] & 1U) == 0 ? classic_layout() : **vsr_layout({});
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto topic = read_topic(layout, body); topic && *topic) {
    MILLRACE_CHECK((*topic)->partitions.size() == (*topic)->partition_count, "a topic has the partitions it counts");
  }
  if (const auto stream = read_stream(layout, body); stream && *stream) {
    MILLRACE_CHECK((*stream)->topics.size() == (*stream)->topic_count, "a stream has the topics it counts");
  }
  static_cast<void>(read_login(layout, body));
  static_cast<void>(read_group(body));
  static_cast<void>(read_offset(body));
  static_cast<void>(read_assignment(body));
  static_cast<void>(read_cluster(body));
  static_cast<void>(read_confirmations(body));
  return 0;
}
