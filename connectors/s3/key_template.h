// SPDX-License-Identifier: Apache-2.0
// KeyTemplate: how a sealed batch is called:
// [prefix/]<template>/<partition>-<first offset>-<last offset>[-<content>].<extension>. Parsed once, immutable, any
// thread. Partition and offsets end every key, so no two batches of a source share one; the partition is counted as its
// topic counts only in a key that names the topic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/key_pattern.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/connectors/s3.h"
#include "millrace/record/record_meta.h"

namespace millrace::s3_sink {

/// What S3 takes, in bytes of UTF-8.
inline constexpr std::size_t kMaxKeyBytes = 1024;

/// What one key is made from. Borrowed for the call.
struct KeyParts {
  const Origin* origin = nullptr;
  std::string_view pipeline;  ///< stands for the stream of records without an origin
  PartitionId partition;
  Offset first;
  Offset last;
  UnixMicros time = 0;            ///< of the first record
  std::string_view route = {};    ///< as a RecordRouter made it; of a template that keeps records apart
  std::string_view uuid = {};     ///< of this file; of a template with {uuid}
  std::string_view content = {};  ///< a hash of the bytes, of files whose offsets do not tell them apart; mostly empty
};

class KeyTemplate {
 public:
  struct Options {
    std::string prefix;     ///< without slashes at its ends; may be empty
    std::string pattern;    ///< "{stream}/{topic}/{date}/{hour}"
    std::string extension;  ///< without a dot
    NameEncoding names = NameEncoding::replace;
    bool hides_dots = false;  ///< the store does not list names that begin with a dot, so none may come of a value
    RouteSpec::OnMissing on_missing = RouteSpec::OnMissing::fallback;
    std::string null_fallback = RouteSpec().fallback;
  };
  /// Fails (config) with every problem of the pattern, one a line, each with its position; when too little room is left
  /// for values of records; and when null_fallback (the message begins with its name) is no value that a key takes.
  [[nodiscard]] static Result<KeyTemplate> parse(Options options);

  /// Fails, always fatal: `limit` when the key would be longer than a store takes; `malformed` when the time lies
  /// outside the years 0 to 9999; `config` when the template names {object} and the origin has none; `rule_broken` when
  /// it keeps records apart and `parts` has no route.
  [[nodiscard]] Result<std::string> render(const KeyParts& parts) const;
  [[nodiscard]] const KeyPattern& pattern() const noexcept { return pattern_; }
  /// By which values of records it keeps them apart; empty: by none.
  [[nodiscard]] const RouteSpec& route() const noexcept { return route_; }
  /// A name as it stands in keys.
  [[nodiscard]] std::string encoded(std::string_view name) const;
  /// A key below the prefix that no template makes.
  [[nodiscard]] std::string beside(std::string_view rest) const;
  /// What every key begins with.
  [[nodiscard]] std::string front() const;

 private:
  using Variable = KeyPattern::Variable;
  using Piece = KeyPattern::Piece;
  void append(std::string& path, const Piece& piece, const KeyParts& parts) const;
  void append_name(std::string& path, std::string_view name) const;
  void append_path(std::string& path, std::string_view key) const;
  void append_time(std::string& path, Variable variable, UnixMicros time) const;
  [[nodiscard]] std::string kept(std::string_view segment) const;
  [[nodiscard]] PartitionId shown_partition(const KeyParts& parts) const;

  Options options_;
  KeyPattern pattern_;
  RouteSpec route_;
};

}  // namespace millrace::s3_sink
