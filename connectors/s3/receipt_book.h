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

#include "connectors/s3/listing.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/receipt.h"
#include "millrace/ack/ledger.h"

namespace millrace::s3_source {

class ReceiptBook {
 public:
  /// `starts`: where each lane resumes; `partial`: what was counted there before.
  ReceiptBook(std::shared_ptr<const Listing> listing, const std::vector<Position>& starts,
              const std::vector<PartialReceipt>& partial);

  void note(std::uint64_t lane, const ObjectFacts& facts);
  void leave_out(std::uint64_t lane, std::uint64_t ordinal, std::string_view why);
  /// Instead of facts, or over them: the fault may have been met after the last byte had been read.
  void set_aside(const QuarantinedObject& object);
  void settle(std::uint64_t lane, const Ledger::Settled& settled);
  /// The lane is committed up to `position`. Appends the lines of its objects that are complete now. Fails (internal)
  /// when one does not balance: then the run must not say that it is.
  [[nodiscard]] Result<void> advance(std::uint64_t lane, Position position, std::string& lines);
  /// Of the objects that are committed in part.
  [[nodiscard]] std::vector<PartialReceipt> partial() const;

 private:
  struct Open {
    std::optional<ObjectFacts> facts;
    std::string left_out;
    std::optional<QuarantinedObject> aside;
    ReceiptFates fates;
    std::set<ReceiptPlace> places;
  };
  struct Lane {
    Position at;
    std::uint64_t next = 0;                 ///< the first object that has no line yet
    std::map<std::uint64_t, Open> objects;  ///< by ordinal, those that something is known of
  };
  [[nodiscard]] Result<ObjectReceipt> line_of(std::uint64_t lane, std::uint64_t ordinal);

  const std::shared_ptr<const Listing> listing_;
  std::vector<Lane> lanes_;
};

}  // namespace millrace::s3_source
