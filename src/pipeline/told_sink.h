// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: a sink that says how it is written to, and is never opened.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/sink/sink.h"

namespace millrace {

/// A sink that only says how it is written to.
class ToldSink final : public Sink {
 public:
  SealPolicy policy;
  EncodeSpec spec;
  RouteSpec route;
  SinkTraits all_traits;
  RetryPolicy retry;
  RetryPolicy retry_policy() const override { return retry; }
  std::string_view type() const override { return "told"; }
  Result<void> open(SinkContext /*context*/) override {
    return fail(Error::fatal(ErrorCode::rule_broken, "a plan opens no sink"));
  }
  Result<std::unique_ptr<Writer>> make_writer() override {
    return fail(Error::fatal(ErrorCode::rule_broken, "a plan makes no writer"));
  }
  SealPolicy seal_policy() const override { return policy; }
  EncodeSpec encode_spec() const override { return spec; }
  RouteSpec route_spec() const override { return route; }
  SinkTraits traits() const override { return all_traits; }
};

}  // namespace millrace
