// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/receipt_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/sink/sink.h"

namespace millrace::s3_source {
namespace {

std::uint64_t ordinal_of(Offset offset) { return static_cast<std::uint64_t>(offset.value()) >> kIndexBits; }

}  // namespace

ReceiptBook::ReceiptBook(std::vector<LaneRoute> routes, const std::vector<PartialReceipt>& partial) {
  lanes_.reserve(routes.size());
  for (LaneRoute& route : routes) {
    const Position at = route.at_end() || route.is_retry() ? Position{} : Position{route.ordinal(), route.written()};
    lanes_.push_back({at, std::move(route), {}});
  }
  for (const PartialReceipt& before : partial) {
    Lane& lane = lanes_.at(before.lane);
    const auto at = position_of(Watermark(before.watermark));
    if (!at) continue;
    const Visit* visit = lane.next.visit(at->ordinal);
    // A run that does not retry has no use for what a retry was at.
    const bool own = lane.next.is_retry() ? visit != nullptr : at->ordinal == lane.next.ordinal_or_end();
    if (!own) continue;
    Open& open = lane.objects[at->ordinal];
    const Counted counted{before.fates, {before.places.begin(), before.places.end()}};
    if (visit != nullptr && at->index == visit->was.records) open.proven = counted;
    if (visit == nullptr || at->index == visit->written()) open.counted = counted;
  }
}

void ReceiptBook::note(std::uint64_t lane, const ObjectFacts& facts) {
  lanes_.at(lane).objects[facts.ordinal].facts = facts;
}

void ReceiptBook::leave_out(std::uint64_t lane, std::uint64_t ordinal, std::string_view why) {
  lanes_.at(lane).objects[ordinal].left_out = why;
}

void ReceiptBook::set_aside(const QuarantinedObject& object) {
  Lane& lane = lanes_.at(object.lane);
  Open& open = lane.objects[object.ordinal];
  open.aside = object;
  // What a retry wrote of one that is no further than before counts for nothing.
  const Visit* visit = lane.next.visit(object.ordinal);
  if (visit != nullptr && object.records == visit->was.records) open.counted = open.proven;
}

void ReceiptBook::settle(std::uint64_t lane, const Ledger::Settled& settled) {
  Lane& at = lanes_.at(lane);
  // A batch never spans objects; a chunk of the sink may.
  for (const RecordAccount& account : settled.accounts) {
    at.objects[ordinal_of(account.first)].counted.fates.add(account.fates);
  }
  for (const Landing& landing : settled.landings) {
    if (!landing.dropped && landing.location.empty()) continue;
    const ReceiptPlace place{landing.sink, landing.location, landing.dropped ? landing.records : 0};
    for (LaneRoute next = at.next; !next.at_end() && next.ordinal() <= ordinal_of(landing.last); next.next()) {
      if (next.ordinal() >= ordinal_of(landing.first)) at.objects[next.ordinal()].counted.places.insert(place);
    }
  }
}

Result<void> ReceiptBook::advance(std::uint64_t lane, Position position, std::string& lines) {
  Lane& at = lanes_.at(lane);
  at.at = position;
  const std::uint64_t complete = position.ordinal + (position.object_complete() ? 1 : 0);
  for (; !at.next.at_end() && at.next.ordinal() < complete; at.next.next()) {
    MILLRACE_ASSIGN(const ObjectReceipt line, line_of(at, at.next.ordinal()));
    if (const std::string wrong = line.imbalance(); !wrong.empty()) {
      return fail(Error::fatal(ErrorCode::internal,
                               fmt::format("the receipt does not balance: {}. Its records are written, but what became "
                                           "of each is not known; a chain written by hand has to give account to "
                                           "ChainContext::ledger",
                                           wrong)));
    }
    lines += to_line(line);
    at.objects.erase(at.next.ordinal());
  }
  return {};
}

Result<ObjectReceipt> ReceiptBook::line_of(Lane& lane, std::uint64_t ordinal) {
  const ListedObject listed = lane.next.object(ordinal);
  ObjectReceipt line;
  Open& open = lane.objects[ordinal];
  line.key = listed.key;
  line.etag = open.aside ? open.aside->etag : listed.etag;
  line.size = open.aside ? open.aside->size : listed.size;
  if (!listed.has_bytes() && !open.aside) {
    line.kind = ObjectReceipt::Kind::empty;
    return line;
  }
  if (!open.left_out.empty()) {
    line.kind = ObjectReceipt::Kind::left_out;
    line.left_out = open.left_out;
    return line;
  }
  if (open.aside) {
    line.kind = ObjectReceipt::Kind::quarantined;
    line.quarantined = open.aside->code;
    line.stored = open.aside->byte;
    line.records = open.aside->records;
  } else if (open.facts) {
    line.stored = open.facts->stored;
    line.decoded = open.facts->decoded;
    line.xxh3 = open.facts->xxh3;
    line.records = open.facts->records;
  } else {
    return fail(Error::fatal(ErrorCode::internal, fmt::format("the receipt knows nothing of '{}', which is committed",
                                                              printable(listed.key))));
  }
  line.fates = std::move(open.counted.fates);
  // A chunk between two objects of a lane does not hold those whose records all went another way.
  const bool given_up = std::ranges::any_of(open.counted.places, [](const auto& place) { return place.dropped != 0; });
  const bool lettered = given_up || !line.fates.dead_lettered.empty();
  for (const ReceiptPlace& place : open.counted.places) {
    if (place.sink == kDeadLetterSink ? lettered : line.fates.written != 0) line.places.push_back(place);
  }
  return line;
}

PartialReceipt ReceiptBook::partial_of(std::uint64_t lane, Position at, const Counted& counted) {
  return {lane, watermark_of(at).value(), counted.fates, {counted.places.begin(), counted.places.end()}};
}

std::vector<PartialReceipt> ReceiptBook::partial() const {
  const Open nothing;
  std::vector<PartialReceipt> partial;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const Lane& at = lanes_[lane];
    const auto open_at = [&](std::uint64_t ordinal) -> const Open& {
      const auto open = at.objects.find(ordinal);
      return open == at.objects.end() ? nothing : open->second;
    };
    if (!at.next.is_retry()) {
      if (at.at.object_complete() || at.at.index == 0) continue;
      partial.push_back(partial_of(lane, at.at, open_at(at.at.ordinal).counted));
      continue;
    }
    for (LaneRoute next = at.next; !next.at_end(); next.next()) {
      const Visit& visit = *next.visit();
      const Open& open = open_at(visit.was.ordinal);
      const std::uint64_t index =
          visit.was.ordinal == at.at.ordinal ? std::max(at.at.index, visit.written()) : visit.written();
      partial.push_back(partial_of(lane, visit.was.position(), open.proven));
      if (index > visit.was.records) partial.push_back(partial_of(lane, {visit.was.ordinal, index}, open.counted));
    }
  }
  return partial;
}

}  // namespace millrace::s3_source
