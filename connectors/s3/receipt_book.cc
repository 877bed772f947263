// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/receipt_book.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::uint64_t ordinal_of(Offset offset) { return static_cast<std::uint64_t>(offset.value()) >> kIndexBits; }

}  // namespace

ReceiptBook::ReceiptBook(std::shared_ptr<const Listing> listing, const std::vector<Position>& starts,
                         const std::vector<PartialReceipt>& partial)
    : listing_(std::move(listing)), lanes_(starts.size()) {
  for (std::size_t lane = 0; lane < starts.size(); ++lane) {
    lanes_[lane].at = starts[lane];
    lanes_[lane].next = starts[lane].ordinal + (starts[lane].object_complete() ? 1 : 0);
  }
  for (const PartialReceipt& before : partial) {
    Lane& lane = lanes_.at(before.lane);
    Open& open = lane.objects[lane.next];
    open.fates = before.fates;
    open.places.insert(before.places.begin(), before.places.end());
  }
}

void ReceiptBook::note(std::uint64_t lane, const ObjectFacts& facts) {
  lanes_.at(lane).objects[facts.ordinal].facts = facts;
}

void ReceiptBook::leave_out(std::uint64_t lane, std::uint64_t ordinal, std::string_view why) {
  lanes_.at(lane).objects[ordinal].left_out = why;
}

void ReceiptBook::set_aside(const QuarantinedObject& object) {
  lanes_.at(object.lane).objects[object.ordinal].aside = object;
}

void ReceiptBook::settle(std::uint64_t lane, const Ledger::Settled& settled) {
  Lane& at = lanes_.at(lane);
  // A batch never spans objects; a chunk of the sink may.
  for (const RecordAccount& account : settled.accounts) at.objects[ordinal_of(account.first)].fates.add(account.fates);
  for (const Landing& landing : settled.landings) {
    if (!landing.dropped && landing.location.empty()) continue;
    const ReceiptPlace place{landing.sink, landing.location, landing.dropped ? landing.records : 0};
    for (std::uint64_t ordinal = ordinal_of(landing.first); ordinal <= ordinal_of(landing.last); ++ordinal) {
      if (ordinal >= at.next) at.objects[ordinal].places.insert(place);
    }
  }
}

Result<void> ReceiptBook::advance(std::uint64_t lane, Position position, std::string& lines) {
  Lane& at = lanes_.at(lane);
  at.at = position;
  const std::uint64_t complete = position.ordinal + (position.object_complete() ? 1 : 0);
  for (; at.next < complete; ++at.next) {
    MILLRACE_ASSIGN(const ObjectReceipt line, line_of(lane, at.next));
    if (const std::string wrong = line.imbalance(); !wrong.empty()) {
      return fail(Error::fatal(ErrorCode::internal,
                               fmt::format("the receipt does not balance: {}. Its records are written, but what became "
                                           "of each is not known; a chain written by hand has to give account to "
                                           "ChainContext::ledger",
                                           wrong)));
    }
    lines += to_line(line);
    at.objects.erase(at.next);
  }
  return {};
}

Result<ObjectReceipt> ReceiptBook::line_of(std::uint64_t lane, std::uint64_t ordinal) {
  const ListedObject listed = listing_->object_of_lane(lane, lanes_.size(), ordinal);
  ObjectReceipt line;
  line.key = listed.key;
  line.etag = listed.etag;
  line.size = listed.size;
  if (!listed.has_bytes()) {
    line.kind = ObjectReceipt::Kind::empty;
    return line;
  }
  Open& open = lanes_[lane].objects[ordinal];
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
  line.fates = std::move(open.fates);
  // A chunk between two objects of a lane does not hold those whose records all went another way.
  if (line.fates.written != 0) line.places.assign(open.places.begin(), open.places.end());
  return line;
}

std::vector<PartialReceipt> ReceiptBook::partial() const {
  std::vector<PartialReceipt> partial;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const Lane& at = lanes_[lane];
    if (at.at.object_complete() || at.at.index == 0) continue;
    PartialReceipt& one = partial.emplace_back();
    one.lane = lane;
    one.watermark = watermark_of(at.at).value();
    const auto open = at.objects.find(at.next);
    if (open == at.objects.end()) continue;
    one.fates = open->second.fates;
    one.places.assign(open->second.places.begin(), open->second.places.end());
  }
  return partial;
}

}  // namespace millrace::s3_source
