// SPDX-License-Identifier: Apache-2.0
// DropFields: delete_fields. KeepFields: project, which drops what is not listed. Every field under a key goes or
// stays, however often the key is there; of an object that is kept in part only the last one stays. Lane thread.
#pragma once

#include <vector>

#include "millrace/ops/transform_spec.h"
#include "ops/transforms/edits.h"
#include "ops/transforms/path_tree.h"
#include "ops/transforms/run_context.h"

namespace millrace::transforms {

class DropFields {
 public:
  /// Fails (config).
  [[nodiscard]] static Result<DropFields> make(const std::vector<FieldPath>& fields);
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);

 private:
  void object(const Document& document, Token object, int node, Edits& edits);

  PathTree tree_;
  ByteBuffer scratch_;
};

/// Drops all fields of an object but those of a tree.
class KeepFields {
 public:
  [[nodiscard]] static Result<KeepFields> make(const std::vector<FieldPath>& fields);
  /// A document that is no object fails: nothing of it is listed.
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);

  [[nodiscard]] const PathTree& tree() const noexcept { return tree_; }
  void object(const Document& document, Token object, int node, Edits& edits);
  /// An object whose paths are those of `node`, before its fields.
  void begin(const Document& document, Token object, const PathTree::Node& node);
  /// One field of it: what of it is listed stays.
  void field(const Document& document, const Member& member, const PathTree::Node& node, Commas& commas, Edits& edits);

 private:
  PathTree tree_;
  std::vector<Token> last_;  ///< by slot: key of the last field under it
  ByteBuffer scratch_;
};

}  // namespace millrace::transforms
