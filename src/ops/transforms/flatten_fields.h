// SPDX-License-Identifier: Apache-2.0
// FlattenStep: flatten. Braces go and names are joined; every value keeps its bytes and its place. Lane thread.
#pragma once

#include <string>

#include "decode/json_keys.h"
#include "millrace/base/bounded.h"
#include "millrace/ops/transform_spec.h"
#include "ops/transforms/edits.h"
#include "ops/transforms/record_totals.h"

namespace millrace::transforms {

class FlattenStep {
 public:
  /// Bytes by which documents of `size` bytes may grow, all of one record together. A long name above many fields would
  /// be repeated before each.
  [[nodiscard]] static constexpr std::uint64_t growth(std::uint64_t size) noexcept {
    return bounded_sum(bounded_product(16, size), 64U << 10U);
  }

  /// Fails (config).
  [[nodiscard]] static Result<FlattenStep> make(const ops::FlattenFields& spec);
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);
  /// Of the document that the edits made: no two fields have one name.
  [[nodiscard]] bool names_differ(Document& flat, RunContext& context);

 private:
  [[nodiscard]] bool object(const Document& document, Token object, std::uint32_t depth, std::size_t begin,
                            Edits& edits);

  std::string separator_;  ///< as it stands in a JSON string
  std::uint32_t depth_ = 0;
  ByteBuffer prefix_;  ///< likewise
  RecordTotals totals_;
  std::uint64_t room_ = 0;  ///< bytes that may still be put in
  JsonKeys keys_;
};

}  // namespace millrace::transforms
