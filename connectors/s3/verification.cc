// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "connectors/s3/json_fields.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"
#include "millrace/sink/sink.h"

namespace millrace::s3_source {
namespace {

/// Where the bytes of a batch that was given up may be looked for: the letters of this object, of which they are one.
std::string letters_of(const ObjectReceipt& line) {
  std::string named;
  for (const ReceiptPlace& place : line.places) {
    if (place.sink != kDeadLetterSink || place.to.empty()) continue;
    named += (named.empty() ? "; its bytes are in a dead letter: " : ", ") + printable(place.to);
  }
  return named;
}

/// One line against the object as it is listed now.
void compare(const ObjectReceipt& line, const ListedObject& now, Verification& result) {
  if (line.kind == ObjectReceipt::Kind::quarantined) return;  // a gap already, whatever stands there now
  const std::string name = printable(line.key);
  if (line.etag != now.etag || line.size != now.size) {
    result.gap(fmt::format("'{}' has changed since it was read: it was {} bytes with ETag {}, and is {} with {}", name,
                           line.size, printable(line.etag), now.size, printable(now.etag)));
  }
  if (line.kind == ObjectReceipt::Kind::left_out) {
    result.gap(fmt::format("'{}' was left out ({}); nothing of it was read", name, line.left_out));
  } else if (line.kind == ObjectReceipt::Kind::empty && now.has_bytes()) {
    result.gap(fmt::format("'{}' is said to be empty, and has {} bytes", name, now.size));
  } else if (const std::string wrong = line.imbalance(); !wrong.empty()) {
    result.gap(wrong);
  }
  for (const ReceiptPlace& place : line.places) {
    if (place.dropped == 0) continue;
    result.gap(
        fmt::format("'{}': a batch of {} records, some of them of this object, was given up by {} "
                    "(on_upload_failure: drop); what is counted as out may not be there{}",
                    name, place.dropped, printable(place.sink), letters_of(line)));
  }
}

/// What the last line says against the sum of the others.
void compare_sums(const ReceiptTotal& said, ReceiptTotal sum, std::uint64_t hash, Verification& result) {
  if (said.xxh3 != hash) {
    result.gap(fmt::format("the lines are not those that the total was made of: their hash is {}, and it says {}",
                           to_hex(hash), to_hex(said.xxh3)));
  }
  sum.pipeline = said.pipeline;
  sum.source = said.source;
  sum.listed = said.listed;
  sum.listing_bytes = said.listing_bytes;
  sum.listing_hash = said.listing_hash;
  sum.xxh3 = said.xxh3;
  if (sum != said) {
    result.gap(
        fmt::format("the total is not the sum of the lines: it says {} records of {} objects, and they are {} "
                    "of {}; compare its other fields too",
                    said.records, said.read, sum.records, sum.read));
  }
  if (const std::string wrong = said.imbalance(); !wrong.empty()) result.gap(wrong);
}

}  // namespace

void Verification::gap(std::string text) {
  if (gaps++ < kTold) told.push_back(std::move(text));
}

Verification verify_receipt(std::string_view receipt, const Listing& now) {
  Verification result;
  std::vector<bool> seen(now.size());
  ReceiptTotal sum;
  StreamHash hash;
  bool ended = false;
  for (std::uint64_t number = 1; !receipt.empty(); ++number) {
    const std::size_t end = receipt.find('\n');
    const std::string_view line = receipt.substr(0, end);
    if (ended || end == std::string_view::npos) {
      result.gap(ended ? fmt::format("line {} stands behind the total", number) : "the last line is cut off");
      break;
    }
    if (end + 1 == receipt.size() && line.starts_with("{\"receipt\"")) {
      ended = true;
      if (auto total = parse_total(line)) {
        result.total = *std::move(total);
        compare_sums(result.total, sum, hash.value(), result);
      } else {
        result.gap(fmt::format("line {}, the total: {}", number, total.error().message()));
      }
      break;
    }
    hash.add(receipt.substr(0, end + 1));
    receipt.remove_prefix(end + 1);
    const auto object = parse_object(line);
    if (!object) {
      result.gap(fmt::format("line {}: {}", number, object.error().message()));
      continue;
    }
    sum.add(*object);
    if (object->kind == ObjectReceipt::Kind::quarantined) {
      result.gap(
          fmt::format("'{}' was set aside ({}): {} of its records were delivered. Once it is mended, read it "
                      "with `millrace run FILE --retry-quarantined`",
                      printable(object->key), object->quarantined, object->records));
      if (const std::string wrong = object->imbalance(); !wrong.empty()) result.gap(wrong);
    }
    const auto place = now.find(object->key);
    if (!place) {
      if (object->kind == ObjectReceipt::Kind::quarantined) continue;
      result.gap(fmt::format("'{}' was read, and is gone", printable(object->key)));
    } else if (seen[*place]) {
      result.gap(fmt::format("'{}' has two lines", printable(object->key)));
    } else {
      seen[*place] = true;
      compare(*object, now[*place], result);
    }
  }
  if (!ended) result.gap("there is no total, the line that ends a receipt");
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!seen[i]) result.gap(fmt::format("'{}' is listed, and was not read", printable(now[i].key)));
  }
  return result;
}

std::string verdict_text(const Verification& result, std::uint64_t listed, std::uint64_t read,
                         const std::optional<std::string>& apart) {
  std::string text = fmt::format("objects    {} listed, {} read in full\nrecords    {} read: {}", listed, read,
                                 result.total.records, result.total.fates.text(", "));
  text += result.ok() ? "\nverified   every object is accounted for, and every record of it\n"
                      : fmt::format("\nGAPS       {}\n", result.gaps);
  for (const std::string& gap : result.told) text += "  " + gap + "\n";
  if (result.gaps > result.told.size()) text += fmt::format("  ... and {} more\n", result.gaps - result.told.size());
  if (apart && !apart->empty()) {
    text += fmt::format("warning    {}. {}\n", *apart,
                        result.ok() ? "What is listed now is accounted for all the same; an object that came and went "
                                      "in between is in none of them"
                                    : "Run those again that saw an older one");
  }
  return text;
}

std::string verdict_json(const Verification& result, std::uint64_t listed, std::uint64_t read,
                         const std::optional<std::string>& apart) {
  const ReceiptFates& fates = result.total.fates;
  Json json{{"verified", result.ok()},
            {"objects", {{"listed", listed}, {"read", read}}},
            {"records", {{"in", result.total.records}, {"out", fates.out}, {"filtered", fates.filtered}}},
            {"gaps", {{"count", result.gaps}, {"first", result.told}}}};
  json["records"]["skipped"] = Json::object();
  for (const auto& [reason, count] : fates.skipped) json["records"]["skipped"][reason] = count;
  for (const auto& [reason, count] : fates.dead_lettered) json["records"]["dead_lettered"][reason] = count;
  if (apart) json["same_listing"] = apart->empty();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::s3_source
