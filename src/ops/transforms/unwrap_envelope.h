// SPDX-License-Identifier: Apache-2.0
// UnwrapStep: unwrap_envelope. The document becomes one of its values, where it lies; nothing is copied. Lane thread.
#pragma once

#include "millrace/ops/field_path.h"
#include "ops/transforms/path_tree.h"
#include "ops/transforms/run_context.h"

namespace millrace::transforms {

class UnwrapStep {
 public:
  [[nodiscard]] static Result<UnwrapStep> make(const FieldPath& field) {
    if (field.names.empty()) return fail(Error::config("names no field"));
    UnwrapStep step;
    step.field_ = field;
    return step;
  }
  /// Of a key that comes twice the last one counts. A document without the field stays as it is.
  [[nodiscard]] Effect apply(const Document& document, RunContext& context) {
    Token value = document.root();
    Token behind = nullptr;
    for (const std::string& name : field_.names) {
      if (!document.is_object(value)) return Effect::untouched;
      Member found{};
      document.each_member(value, [&](const Member& member) {
        if (text_of(document, member.key, scratch_) == name) found = member;
      });
      if (found.key == nullptr) return Effect::untouched;
      value = found.value;
      behind = found.behind;
    }
    context.part = document.value(value, behind);
    return Effect::narrowed;
  }

 private:
  FieldPath field_;
  ByteBuffer scratch_;
};

}  // namespace millrace::transforms
