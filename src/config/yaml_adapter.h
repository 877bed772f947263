// SPDX-License-Identifier: Apache-2.0
// The one place that knows yaml-cpp: events of its parser to a tree of nodes.
#pragma once

#include <memory>
#include <string>

#include "config/node.h"
#include "config/source_text.h"

namespace millrace {

/// Nesting that a pipeline file may have; more than any schema asks for.
inline constexpr std::size_t kMaxConfigDepth = 32;

/// The tree of `text`; null when the syntax is broken. Syntax, duplicate keys, anchors, tags, several documents and
/// variables without a value are added to `problems`, in file order.
[[nodiscard]] std::shared_ptr<ConfigSection::Element> read_yaml(const SourceText& text, const std::string& file,
                                                                ConfigProblems& problems);

}  // namespace millrace
