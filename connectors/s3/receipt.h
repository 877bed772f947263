// SPDX-License-Identifier: Apache-2.0
// The receipt of a backfill as values and as lines, as docs/formats/receipt.md describes it (schema 1). Pure; any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/stored_record.h"
#include "millrace/ack/ledger.h"
#include "millrace/base/result.h"

namespace millrace::s3_source {

inline constexpr std::uint64_t kReceiptSchema = 1;

/// What reading an object to its end has shown.
struct ObjectFacts {
  std::uint64_t ordinal = 0;  ///< within its lane
  std::uint64_t stored = 0;   ///< bytes
  std::uint64_t decoded = 0;  ///< bytes
  std::uint64_t xxh3 = 0;     ///< of the decoded bytes
  std::uint64_t records = 0;
};

/// What became of the records of one object, or of several.
struct ReceiptFates {
  std::uint64_t out = 0;
  std::uint64_t filtered = 0;
  std::map<std::string, std::uint64_t> skipped;        ///< by reason
  std::map<std::string, std::uint64_t> dead_lettered;  ///< by reason
  std::uint64_t written = 0;                           ///< encoded records

  void add(const RecordFates& fates);
  void add(const ReceiptFates& fates);
  /// Source records that have a fate.
  [[nodiscard]] std::uint64_t records() const;
  /// "2 out, 1 filtered, 1 skipped (malformed)", with `joint` between them.
  [[nodiscard]] std::string text(std::string_view joint) const;
  friend bool operator==(const ReceiptFates&, const ReceiptFates&) = default;
};

/// Where records of an object went.
struct ReceiptPlace {
  std::string sink;
  std::string to;             ///< as the sink names it; empty with `dropped`
  std::uint64_t dropped = 0;  ///< a batch of so many records, some of them this object's, was given up
  friend auto operator<=>(const ReceiptPlace&, const ReceiptPlace&) = default;
};

/// One object's line.
struct ObjectReceipt {
  enum class Kind { read, empty, left_out, quarantined };
  Kind kind = Kind::read;
  std::string key;
  std::string etag;
  std::uint64_t size = 0;
  std::string left_out;     ///< why
  std::string quarantined;  ///< why, as a code; of a fault that was met behind `records`
  std::uint64_t stored = 0;
  std::uint64_t decoded = 0;
  std::uint64_t xxh3 = 0;
  std::uint64_t records = 0;
  ReceiptFates fates;
  std::vector<ReceiptPlace> places;  ///< rising, each once

  /// What of it does not balance, in words that name the figures; empty when all does.
  [[nodiscard]] std::string imbalance() const;
  friend bool operator==(const ObjectReceipt&, const ObjectReceipt&) = default;
};

/// The last line.
struct ReceiptTotal {
  std::string pipeline;
  std::string source;
  std::uint64_t listed = 0;  ///< objects of the listing
  std::uint64_t listing_bytes = 0;
  std::uint64_t listing_hash = 0;
  std::uint64_t read = 0;
  std::uint64_t empty = 0;
  std::uint64_t left_out = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t stored = 0;
  std::uint64_t decoded = 0;
  std::uint64_t records = 0;
  ReceiptFates fates;
  std::uint64_t xxh3 = 0;  ///< of all lines before

  void add(const ObjectReceipt& line);
  [[nodiscard]] std::string imbalance() const;
  friend bool operator==(const ReceiptTotal&, const ReceiptTotal&) = default;
};

/// With the line feed.
[[nodiscard]] std::string to_line(const ObjectReceipt& object);
[[nodiscard]] std::string to_line(const ReceiptTotal& total);
/// Reads a line without its line feed, or fails (corrupt) with the field and what is wrong with it.
[[nodiscard]] Result<ObjectReceipt> parse_object(std::string_view line);
[[nodiscard]] Result<ReceiptTotal> parse_total(std::string_view line);

/// What is counted of an object that is not committed to its end: it goes on from there after a resume.
struct PartialReceipt {
  std::uint64_t lane = 0;
  std::int64_t watermark = 0;
  ReceiptFates fates;
  std::vector<ReceiptPlace> places;
  friend bool operator==(const PartialReceipt&, const PartialReceipt&) = default;
};

/// What a commit adds to a receipt.
struct ReceiptNews {
  std::string lines;                    ///< of the objects that are committed to their end
  std::vector<PartialReceipt> partial;  ///< of all that are committed in part
};

/// The first line of a part, and what stands in it.
struct ReceiptPart {
  std::uint64_t number = 0;  ///< from 1
  StoredRecord before;       ///< the part before it; no name: it is the first
  /// Parts whose lines stand in this one: once the manifest names this one they are removed, by whoever goes on.
  std::vector<std::string> replaces;
  std::vector<PartialReceipt> partial;
  friend bool operator==(const ReceiptPart&, const ReceiptPart&) = default;
};
[[nodiscard]] std::string to_line(const ReceiptPart& part);
[[nodiscard]] Result<ReceiptPart> parse_part(std::string_view line);

}  // namespace millrace::s3_source
