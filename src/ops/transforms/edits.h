// SPDX-License-Identifier: Apache-2.0
// Edits: what is to become of a document, as pieces cut out and texts put in, front to back. Applied, they make the new
// document; all between them is copied as it is. Lane thread; memory is kept.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"
#include "ops/transforms/document.h"

namespace millrace::transforms {

class Edits {
 public:
  void clear() noexcept {
    edits_.clear();
    texts_.clear();
  }
  [[nodiscard]] bool empty() const noexcept { return edits_.empty(); }

  /// Bytes [begin, end) go. Edits come in order and do not overlap.
  void cut(std::size_t begin, std::size_t end) { edits_.push_back({begin, end, texts_.size()}); }
  /// Bytes [begin, end) become what is appended to texts() before close().
  void open(std::size_t begin, std::size_t end) { edits_.push_back({begin, end, 0}); }
  [[nodiscard]] ByteBuffer& texts() noexcept { return texts_; }
  void close() { edits_.back().text_end = texts_.size(); }

  /// Bytes of the new document.
  [[nodiscard]] std::size_t new_size(std::size_t old_size) const noexcept {
    std::size_t size = old_size + texts_.size();
    for (const Edit& edit : edits_) size -= edit.end - edit.begin;
    return size;
  }
  /// `out` becomes the new document, with room behind it for a scan in place.
  void apply(std::string_view document, ByteBuffer& out) const;

 private:
  struct Edit {
    std::size_t begin;
    std::size_t end;
    std::size_t text_end;  ///< its text begins where that of the edit before ends
  };
  std::vector<Edit> edits_;
  ByteBuffer texts_;
};

/// The commas of one object, some of whose fields go. Told of each field in order.
class Commas {
 public:
  Commas(const Document& document, Edits& edits) : document_(&document), edits_(&edits) {}
  void keep() noexcept { kept_ = true; }
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  void drop(const Member& member) {
    const bool last = document_->first(member.behind) != ',';
    if (kept_) {
      edits_->cut(member.key[-1], last ? document_->value_end(member.behind) : *member.behind);
    } else {
      edits_->cut(*member.key, last ? document_->value_end(member.behind) : member.behind[1]);
    }
  }

 private:
  const Document* document_;
  Edits* edits_;
  bool kept_ = false;  ///< some field before this one stays
};

}  // namespace millrace::transforms
