// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"
#include "millrace/connectors/stream.h"

namespace millrace {
namespace {

std::string quoted(std::string_view text) {
  ByteBuffer out;
  append_json_string(out, text);
  return std::string(out.view());
}

std::string number(bool known, std::int64_t value) { return known ? std::to_string(value) : "null"; }

/// Of a partition that never had a record nothing needs to be stored; some brokers can store no position then.
bool is_known(const StreamStanding& one) { return one.stored || one.end.value() == 0; }

std::int64_t behind(const StreamStanding& one) {
  return one.stored ? std::max<std::int64_t>(one.end.value() - one.stored->value(), 0) : 0;
}

std::string line(const StreamStanding& one) {
  if (!one.stored) return fmt::format("  {}: nothing is stored, the end is {}\n", one.named, one.end.value());
  return fmt::format("  {}: {} is stored, the end is {}: {} behind\n", one.named, one.stored->value(), one.end.value(),
                     behind(one));
}

std::string member(const StreamStanding& one) {
  return fmt::format(R"({{"topic":{},"partition":{},"stored":{},"end":{},"behind":{}}})", quoted(one.topic), one.number,
                     one.stored ? std::to_string(one.stored->value()) : "null", one.end.value(),
                     number(is_known(one), behind(one)));
}

}  // namespace

std::string stream_status(std::string_view kind, std::string_view name, std::span<const StreamStanding> partitions,
                          bool json) {
  std::string all;
  std::int64_t total = 0;
  std::size_t unknown = 0;  // of these it is not known where a run would begin
  for (const StreamStanding& one : partitions) {
    if (json && !all.empty()) all += ',';
    all += json ? member(one) : line(one);
    total += behind(one);
    unknown += is_known(one) ? 0 : 1;
  }
  if (json) {
    return fmt::format("{{{}:{},\"behind\":{},\"partitions\":[{}]}}\n", quoted(kind), quoted(name),
                       number(unknown == 0, total), all);
  }
  const std::string more =
      unknown == 0 ? "" : fmt::format(", and nothing is stored in {} of {} partitions", unknown, partitions.size());
  return fmt::format("{} '{}': {} records behind{}\n{}", kind, printable(name), total, more, all);
}

}  // namespace millrace
