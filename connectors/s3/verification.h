// SPDX-License-Identifier: Apache-2.0
// Verification: holds a receipt against itself and against what is listed now. Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/receipt.h"

namespace millrace::s3_source {

struct Verification {
  static constexpr std::size_t kTold = 20;  ///< gaps that are told; the others are counted

  ReceiptTotal total;  ///< as its last line says
  std::uint64_t gaps = 0;
  std::vector<std::string> told;  ///< the first of them, each a sentence

  void gap(std::string text);
  [[nodiscard]] bool ok() const noexcept { return gaps == 0; }
};

/// `receipt`: its text, unpacked. Every object of `now` has one line, as it is now and read in full; every line
/// balances; the total is the sum of the lines, and pins them by their hash.
[[nodiscard]] Verification verify_receipt(std::string_view receipt, const Listing& now);

/// A few lines for people: what was compared, and each gap that is told. `apart`, of shards: how their listings differ,
/// or empty. That alone is no gap: each receipt was compared with its part of what is listed now.
[[nodiscard]] std::string verdict_text(const Verification& result, std::uint64_t listed, std::uint64_t read,
                                       const std::optional<std::string>& apart = {});
/// One JSON document.
[[nodiscard]] std::string verdict_json(const Verification& result, std::uint64_t listed, std::uint64_t read,
                                       const std::optional<std::string>& apart = {});

}  // namespace millrace::s3_source
