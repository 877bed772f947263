// SPDX-License-Identifier: Apache-2.0
// A small question over HTTP whose answer is kept whole: what STS and SSO are asked. Tried again where a second try may
// help, and given up within seconds.
#pragma once

#include <functional>
#include <string>

#include "millrace/base/result.h"
#include "store/s3/http_exchange.h"
#include "store/s3/http_loop.h"

namespace millrace::s3 {

struct TextQuestion {
  HttpMethod method = HttpMethod::get;
  std::string url;
  HeaderList headers;
  std::string body;
};

struct TextAnswer {
  HttpHead head;
  std::string body;  ///< at most 1 MiB
};

/// Any thread; `done` is called on the loop thread, once, unless the loop ends before. Fails when nobody answered or
/// the answer was cut; any status that came is an answer.
void ask(HttpLoop& loop, TextQuestion question, std::move_only_function<void(Result<TextAnswer>)> done);

}  // namespace millrace::s3
