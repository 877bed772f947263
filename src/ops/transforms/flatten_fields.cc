// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/flatten_fields.h"

#include <fmt/format.h>

#include "millrace/base/json_string.h"
#include "millrace/base/utf8.h"

namespace millrace::transforms {

Result<FlattenStep> FlattenStep::make(const ops::FlattenFields& spec) {
  if (first_invalid_utf8(spec.separator) != std::string_view::npos) {
    return fail(Error::config("the separator is not UTF-8"));
  }
  FlattenStep step;
  ByteBuffer escaped;
  append_json_escaped(escaped, spec.separator);
  step.separator_ = escaped.view();
  step.depth_ = spec.depth == 0 ? kMaxJsonDepth : spec.depth;
  return step;
}

Effect FlattenStep::apply(const Document& document, RunContext& context, Edits& edits) {
  if (!document.is_object(document.root())) return Effect::untouched;
  prefix_.clear();
  keys_.begin(document.text().size());
  totals_.take(context, document.text().size());
  room_ = growth(totals_.given) - totals_.made;
  const bool fits = object(document, document.root(), 0, 0, edits);
  totals_.made += edits.texts().size();
  if (!fits) {
    return context.fail(ErrorCode::too_large,
                        fmt::format("flattened, the document would grow by more than {} bytes, most of them names that "
                                    "repeat those above them; flatten fewer levels (depth)",
                                    growth(totals_.given)));
  }
  if (edits.empty()) return Effect::untouched;
  // Taken out of its object, what an earlier field under the key holds would begin to count.
  if (keys_.repeated() != JsonKeys::kNone) {
    return context.fail(
        ErrorCode::duplicate_key,
        fmt::format("the document cannot be flattened: an object has the key at byte {} twice", keys_.repeated()));
  }
  return Effect::edited;
}

/// `begin`: where the names above begin that have no field yet; only inside of another object.
bool FlattenStep::object(const Document& document, Token object, std::uint32_t depth, std::size_t begin, Edits& edits) {
  bool fits = true;
  bool first = true;
  keys_.open_object();
  document.each_member(object, [&](const Member& member) {
    if (!fits) return;
    keys_.add(document.raw_string(member.key), *member.key, document.tokens().has_escapes());
    const std::size_t from = depth != 0 && first ? begin : *member.key;
    first = false;
    if (document.is_object(member.value) && document.first(member.value + 1) != '}' && depth < depth_) {
      const std::size_t prefix = prefix_.size();
      prefix_.append(document.raw_string(member.key));
      prefix_.append(separator_);
      fits = this->object(document, member.value, depth + 1, from, edits);
      prefix_.truncate(prefix);
      if (!fits) return;
      // From behind its last field to behind its brace.
      edits.cut(document.value_end(member.behind - 1), document.value_end(member.behind));
      return;
    }
    if (depth == 0) return;
    edits.open(from, *member.key + 1);
    edits.texts().push_back('"');
    edits.texts().append(prefix_.view());
    edits.close();
    fits = edits.texts().size() <= room_;
  });
  keys_.close_object();
  return fits;
}

bool FlattenStep::names_differ(Document& flat, RunContext& context) {
  if (!flat.scan()) return false;
  keys_.begin(flat.text().size());
  keys_.open_object();
  flat.each_member(flat.root(), [&](const Member& member) {
    keys_.add(flat.raw_string(member.key), *member.key, flat.tokens().has_escapes());
  });
  keys_.close_object();
  if (keys_.repeated() == JsonKeys::kNone) return true;
  context.failure = Error::record(
      ErrorCode::duplicate_key,
      fmt::format("flattened, two fields of the document have one name (byte {} of what it would be); another "
                  "separator keeps them apart",
                  keys_.repeated()));
  return false;
}

}  // namespace millrace::transforms
