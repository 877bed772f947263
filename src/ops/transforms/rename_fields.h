// SPDX-License-Identifier: Apache-2.0
// RenameStep: rename. All at once, so that two fields can take each other's name; a field that had the new name goes,
// and a field that is renamed is there once afterwards: in an object that a later one of its key shadows both go. Lane
// thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/transforms/edits.h"
#include "ops/transforms/found_paths.h"
#include "ops/transforms/run_context.h"

namespace millrace::transforms {

class RenameStep {
 public:
  using Names = std::vector<std::pair<FieldPath, std::string>>;
  /// Fails (config).
  [[nodiscard]] static Result<RenameStep> make(const Names& fields);
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);
  /// Bytes that a document may grow by.
  [[nodiscard]] static std::size_t growth(const Names& fields);

 private:
  void object(const Document& document, Token object, int node, bool counts, Edits& edits);

  std::vector<std::string> names_;   ///< by path: the new one
  std::vector<std::string> quoted_;  ///< as a JSON string
  PathTree tree_;
  std::vector<Token> last_;   ///< by slot: the key of the field that is renamed; null: none is there
  bool looks_ahead_ = false;  ///< a path has several names, so that an object on its way may be shadowed
  FoundPaths found_;
  ByteBuffer scratch_;
};

}  // namespace millrace::transforms
