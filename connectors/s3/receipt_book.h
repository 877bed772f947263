// SPDX-License-Identifier: Apache-2.0
// ReceiptBook: gathers what the lanes and the ledger say of each object until it is committed, and then gives its line.
// Control thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/receipt.h"
#include "connectors/s3/route.h"
#include "millrace/ack/ledger.h"

namespace millrace::s3_source {

class ReceiptBook {
 public:
  /// `routes`: from where each lane resumes; `partial`: what was counted of objects before. In a retry each object may
  /// come twice: up to the records that are proven, and up to those of an earlier retry.
  ReceiptBook(std::vector<LaneRoute> routes, const std::vector<PartialReceipt>& partial);

  void note(std::uint64_t lane, const ObjectFacts& facts);
  void leave_out(std::uint64_t lane, std::uint64_t ordinal, std::string_view why);
  /// Instead of facts, or over them: the fault may have been met after the last byte had been read.
  void set_aside(const QuarantinedObject& object);
  void settle(std::uint64_t lane, const Ledger::Settled& settled);
  /// The lane is committed up to `position`. Appends the lines of its objects that are complete now. Fails (internal)
  /// when one does not balance: then the run must not say that it is.
  [[nodiscard]] Result<void> advance(std::uint64_t lane, Position position, std::string& lines);
  /// Of the objects that are committed in part, or are still to be retried.
  [[nodiscard]] std::vector<PartialReceipt> partial() const;

 private:
  struct Counted {
    ReceiptFates fates;
    std::set<ReceiptPlace> places;
  };
  struct Open {
    std::optional<ObjectFacts> facts;
    std::string left_out;
    std::optional<QuarantinedObject> aside;
    Counted counted;
    Counted proven;  ///< of it, what was counted when the object was set aside
  };
  struct Lane {
    Position at;
    LaneRoute next;                         ///< at the first object that has no line yet
    std::map<std::uint64_t, Open> objects;  ///< by ordinal, those that something is known of
  };
  [[nodiscard]] Result<ObjectReceipt> line_of(Lane& lane, std::uint64_t ordinal);
  [[nodiscard]] static PartialReceipt partial_of(std::uint64_t lane, Position at, const Counted& counted);

  std::vector<Lane> lanes_;
};

}  // namespace millrace::s3_source
