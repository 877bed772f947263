// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/where.h"

#include "ops/transforms/number_order.h"

namespace millrace::transforms {
namespace {

using Kind = WhereNode::Kind;
using Order = WhereNode::Order;

bool in_order(std::strong_ordering is, Order wanted) noexcept {
  switch (wanted) {
    case Order::equal:
      return is == 0;
    case Order::not_equal:
      return is != 0;
    case Order::less:
      return is < 0;
    case Order::less_or_equal:
      return is <= 0;
    case Order::greater:
      return is > 0;
    case Order::greater_or_equal:
      break;
  }
  return is >= 0;
}

}  // namespace

Result<Where> Where::make(std::string_view text) {
  Where where;
  MILLRACE_ASSIGN(where.expression_, parse_where(text));
  MILLRACE_ASSIGN(where.tree_, PathTree::make(where.expression_.paths, false));
  return where;
}

bool Where::met_by(const Document& document) {
  found_.look(tree_, document);
  return holds(document, expression_.root);
}

bool Where::holds(const Document& document, int node) {
  const WhereNode& step = expression_.nodes[static_cast<std::size_t>(node)];
  switch (step.kind) {
    case Kind::exists:
      return found_.value(step.path) != nullptr;
    case Kind::compare:
      return compares(document, found_.value(step.path), step);
    case Kind::negation:
      return !holds(document, step.left);
    case Kind::both:
      return holds(document, step.left) && holds(document, step.right);
    case Kind::either:
      break;
  }
  return holds(document, step.left) || holds(document, step.right);
}

bool Where::compares(const Document& document, Token value, const WhereNode& node) {
  const bool unlike = node.order == Order::not_equal;
  if (value == nullptr) return unlike;
  const char first = document.first(value);
  const char kind = begins_number(first) ? '0' : first;
  if (kind != node.literal) return unlike;
  if (kind == '0') return in_order(compare_numbers(document.tokens().scalar(value), node.text), node.order);
  if (kind == '"') return in_order(text_of(document, value, scratch_).compare(node.text) <=> 0, node.order);
  return !unlike;
}

}  // namespace millrace::transforms
