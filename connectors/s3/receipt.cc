// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/receipt.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::s3_source {

void ReceiptFates::add(const RecordFates& fates) {
  out += fates.out;
  filtered += fates.filtered;
  written += fates.encoded;
  for (const auto& [code, count] : fates.skipped) skipped[std::string(to_string(code))] += count;
  for (const auto& [code, count] : fates.dead_lettered) dead_lettered[std::string(to_string(code))] += count;
}

void ReceiptFates::add(const ReceiptFates& fates) {
  out += fates.out;
  filtered += fates.filtered;
  written += fates.written;
  for (const auto& [reason, count] : fates.skipped) skipped[reason] += count;
  for (const auto& [reason, count] : fates.dead_lettered) dead_lettered[reason] += count;
}

std::uint64_t ReceiptFates::records() const {
  std::uint64_t total = out + filtered;
  for (const auto& [reason, count] : skipped) total += count;
  for (const auto& [reason, count] : dead_lettered) total += count;
  return total;
}

std::string ReceiptFates::text(std::string_view joint) const {
  std::string all = fmt::format("{} out{}{} filtered", out, joint, filtered);
  for (const auto& [reason, count] : skipped) all += fmt::format("{}{} skipped ({})", joint, count, reason);
  for (const auto& [reason, count] : dead_lettered) all += fmt::format("{}{} dead-lettered ({})", joint, count, reason);
  return all;
}

std::string ObjectReceipt::imbalance() const {
  if (kind != Kind::read && kind != Kind::quarantined) return {};
  if (kind == Kind::read && stored != size)
    return fmt::format("'{}': {} of its {} bytes were read", printable(key), stored, size);
  if (records != fates.records()) {
    return fmt::format("'{}': {} records were framed, and {} are accounted for", printable(key), records,
                       fates.text(" + "));
  }
  return {};
}

void ReceiptTotal::add(const ObjectReceipt& line) {
  switch (line.kind) {
    case ObjectReceipt::Kind::read:
      ++read;
      break;
    case ObjectReceipt::Kind::empty:
      ++empty;
      break;
    case ObjectReceipt::Kind::left_out:
      ++left_out;
      break;
    case ObjectReceipt::Kind::quarantined:
      ++quarantined;
      break;
  }
  stored += line.stored;
  decoded += line.decoded;
  records += line.records;
  fates.add(line.fates);
}

std::string ReceiptTotal::imbalance() const {
  if (listed != read + empty + left_out + quarantined) {
    return fmt::format("{} objects are listed, and {} read + {} empty + {} left out + {} set aside", listed, read,
                       empty, left_out, quarantined);
  }
  if (records != fates.records()) {
    return fmt::format("{} records were framed, and {} are accounted for", records, fates.text(" + "));
  }
  return {};
}

}  // namespace millrace::s3_source
