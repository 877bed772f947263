// SPDX-License-Identifier: Apache-2.0
// PutFields: add_fields and update_fields. A field that is set is there once afterwards: where its key came several
// times, the last one, which counts, gets the value, and the others go. Lane thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ops/transforms/edits.h"
#include "ops/transforms/field_value.h"
#include "ops/transforms/found_paths.h"
#include "ops/transforms/run_context.h"

namespace millrace::transforms {

class PutFields {
 public:
  /// Fails (config).
  [[nodiscard]] static Result<PutFields> make(const std::vector<ops::FieldSetting>& settings);
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);
  /// Bytes that a document may grow by.
  [[nodiscard]] static std::size_t growth(const std::vector<ops::FieldSetting>& settings);

 private:
  struct Match {
    Member member;
    int branch;
    bool others_before;  ///< since the match before
  };

  [[nodiscard]] bool object(Token object, int node, bool counts);
  [[nodiscard]] bool insert_absent(Token object, int node, Token last_behind, bool any);
  [[nodiscard]] bool put_value(std::size_t setting);
  [[nodiscard]] bool put_nested(const PathTree::Branch& branch);
  void drop_below(Token object, int node);
  [[nodiscard]] bool sets(int setting) const noexcept;
  [[nodiscard]] std::string first_put(const PathTree::Branch& branch) const;
  [[nodiscard]] bool refuse(ErrorCode code, std::string text);
  [[gnu::cold]] bool refuse_way(const Member& member, const PathTree::Branch& branch);

  std::vector<ops::FieldSetting> settings_;
  PathTree tree_;
  std::vector<std::string> keys_;  ///< by slot: `"name":`
  std::vector<char> puts_;         ///< by slot: something is put there, or below, where nothing is
  std::vector<std::size_t> last_;  ///< by slot: index of its last match
  std::vector<Match> matches_;
  bool looks_ahead_ = false;  ///< a path of several names is set where it leads somewhere: told before the first edit
  FoundPaths found_;
  ByteBuffer scratch_;

  const Document* document_ = nullptr;
  RunContext* context_ = nullptr;
  Edits* edits_ = nullptr;
};

}  // namespace millrace::transforms
