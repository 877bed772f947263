// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/same_value.h"

#include "ops/transforms/number_order.h"
#include "ops/transforms/path_tree.h"

namespace millrace::transforms {
namespace {

/// Each field of `a` that counts has its like in `b`. Fields by fields: meant for the small values of a configuration.
bool holds_all(const Document& a, Token object_a, const Document& b, Token object_b, TextScratch& scratch) {
  bool all = true;
  a.each_member(object_a, [&](const Member& member) {
    if (!all) return;
    const std::string_view name = text_of(a, member.key, scratch.one);
    Token last = nullptr;
    a.each_member(object_a, [&](const Member& other) {
      if (text_of(a, other.key, scratch.other) == name) last = other.key;
    });
    if (last != member.key) return;
    Token like = nullptr;
    b.each_member(object_b, [&](const Member& other) {
      if (text_of(b, other.key, scratch.other) == name) like = other.value;
    });
    all = like != nullptr && same_value(a, member.value, b, like, scratch);
  });
  return all;
}

bool same_arrays(const Document& a, Token one, const Document& b, Token other, TextScratch& scratch) {
  ++one;
  ++other;
  while (a.first(one) != ']' && b.first(other) != ']') {
    if (!same_value(a, one, b, other, scratch)) return false;
    one = a.behind(one);
    other = b.behind(other);
    if (a.first(one) == ',') ++one;
    if (b.first(other) == ',') ++other;
  }
  return a.first(one) == ']' && b.first(other) == ']';
}

}  // namespace

bool same_value(const Document& a, Token value_a, const Document& b, Token value_b, TextScratch& scratch) {
  const char first = a.first(value_a);
  if (begins_number(first)) {
    return begins_number(b.first(value_b)) &&
           compare_numbers(a.tokens().scalar(value_a), b.tokens().scalar(value_b)) == std::strong_ordering::equal;
  }
  if (first != b.first(value_b)) return false;
  switch (first) {
    case '{':
      return holds_all(a, value_a, b, value_b, scratch) && holds_all(b, value_b, a, value_a, scratch);
    case '[':
      return same_arrays(a, value_a, b, value_b, scratch);
    case '"':
      return text_of(a, value_a, scratch.one) == text_of(b, value_b, scratch.other);
    default:
      return true;  // true, false, null begin differently
  }
}

}  // namespace millrace::transforms
