// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "millrace/connectors/stream.h"

namespace millrace {
namespace {

Watermark first_of(HeldRange held) { return Watermark(held.first.value()); }

Error gone(std::string text) { return Error::fatal(ErrorCode::drift, std::move(text)); }

Result<StreamBeginning> behind_the_first(Watermark kept, HeldRange held, OnPositionLost lost,
                                         std::string_view partition) {
  const std::string what =
      fmt::format("{}: the kept position is {}, but the broker holds {}: {} records were removed before they were read",
                  partition, kept.value(), to_string(held), held.first.value() - kept.value());
  if (lost == OnPositionLost::fail) {
    return fail(gone(what + "; set on_position_lost to earliest to go on without them, or to latest to go on with what "
                            "comes from now on"));
  }
  if (lost == OnPositionLost::earliest) {
    return StreamBeginning{first_of(held), {}, what + fmt::format("; going on at {}", held.first.value())};
  }
  return StreamBeginning{
      held.end, {}, what + fmt::format("; going on at {}, without those that it holds", held.end.value())};
}

Result<StreamBeginning> beyond_the_end(Watermark kept, HeldRange held, OnPositionLost lost,
                                       std::string_view partition) {
  const std::string what = fmt::format(
      "{}: the kept position is {}, but the broker holds {}: it lost its newest records, or the topic was made anew",
      partition, kept.value(), to_string(held));
  if (lost == OnPositionLost::fail) {
    return fail(
        gone(what + fmt::format("; set on_position_lost to latest to go on at {} with what comes from now on, or "
                                "to earliest to read again what it holds",
                                held.end.value())));
  }
  if (lost == OnPositionLost::earliest) {
    return StreamBeginning{first_of(held), {}, what + fmt::format("; reading it again from {}", held.first.value())};
  }
  return StreamBeginning{held.end, {}, what + fmt::format("; going on at {}", held.end.value())};
}

}  // namespace

std::string to_string(HeldRange held) {
  if (held.first.value() >= held.end.value()) return fmt::format("nothing (its next offset is {})", held.end.value());
  return fmt::format("offsets {} to {}", held.first.value(), held.end.value() - 1);
}

Result<StreamBeginning> stream_beginning(std::optional<Watermark> kept, HeldRange held, const StreamStart& start,
                                         OnPositionLost lost, std::string_view partition) {
  if (kept) {
    if (kept->value() < held.first.value()) return behind_the_first(*kept, held, lost, partition);
    if (*kept > held.end) return beyond_the_end(*kept, held, lost, partition);
    return StreamBeginning{*kept, {}, {}};
  }
  switch (start.kind) {
    case StreamStart::Kind::earliest:
      return StreamBeginning{first_of(held), {}, {}};
    case StreamStart::Kind::latest:
      return StreamBeginning{held.end, {}, {}};
    case StreamStart::Kind::timestamp:
      return StreamBeginning{held.end, start.timestamp, {}};
    case StreamStart::Kind::offset:
      if (start.offset.value() < held.first.value() || start.offset.value() > held.end.value()) {
        return fail(
            gone(fmt::format("{}: start asks for offset {}, but the broker holds {}; set start to an offset "
                             "that it holds, or to earliest or latest",
                             partition, start.offset.value(), to_string(held))));
      }
      return StreamBeginning{Watermark(start.offset.value()), {}, {}};
    case StreamStart::Kind::stored:
      break;
  }
  return fail(gone(
      fmt::format("{}: start is stored, but no position is kept for it; set start to earliest or latest", partition)));
}

}  // namespace millrace
