// SPDX-License-Identifier: Apache-2.0
#include "feed_client.h"

#include <httplib.h>
#include <millrace/base/bytes.h>
#include <millrace/decode/json_read.h>

#include <charconv>
#include <utility>

using millrace::Error;
using millrace::ErrorCode;
using millrace::fail;
using millrace::Offset;
using millrace::Result;

namespace {

struct Item {
  std::int64_t offset = 0;
  millrace::decode::Json record;  // as it stands in the body, which it borrows
};
MILLRACE_JSON_FIELDS(Item, offset, record);

struct Answer {
  std::vector<Item> items;
  std::int64_t next = 0;
  bool more = false;
};
MILLRACE_JSON_FIELDS(Answer, items, next, more);

// No answer came, or not all of one.
Error no_answer(httplib::Error error, const std::string& place) {
  const std::string why = place + ": no answer (" + httplib::to_string(error) + ")";
  switch (error) {
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return Error::fatal(ErrorCode::credentials, why + ": its certificate is not one that this machine trusts");
    case httplib::Error::ConnectionTimeout:
      return Error::retryable(ErrorCode::timeout, why);
    case httplib::Error::Read:
    case httplib::Error::Write:
      return Error::retryable(ErrorCode::interrupted_transfer, why);
    default:
      return Error::retryable(ErrorCode::unreachable, why);
  }
}

}  // namespace

FeedClient::FeedClient(Options options)
    : options_(std::move(options)), http_(std::make_unique<httplib::Client>(options_.url)) {
  http_->set_keep_alive(true);
  http_->set_connection_timeout(std::chrono::duration_cast<std::chrono::microseconds>(options_.timeout));
  http_->set_read_timeout(std::chrono::duration_cast<std::chrono::microseconds>(options_.timeout));
  http_->set_write_timeout(std::chrono::duration_cast<std::chrono::microseconds>(options_.timeout));
  if (!options_.token.empty()) http_->set_bearer_token_auth(options_.token);
  json_.unknown_fields(millrace::UnknownFields::ignore);  // the API may come to say more
}

FeedClient::~FeedClient() = default;

void FeedClient::stop() { http_->stop(); }

Result<std::unique_ptr<Page>> FeedClient::get(Offset from) {
  const std::string path =
      options_.feed + "?from=" + std::to_string(from.value()) + "&limit=" + std::to_string(options_.page_size);
  httplib::Result answer = http_->Get(path);
  if (!answer) return fail(no_answer(answer.error(), place()));
  if (answer->status != 200) return fail(refusal(*answer));
  return read(std::move(answer->body), from);
}

// An answer that is no page.
Error FeedClient::refusal(const httplib::Response& answer) const {
  const std::string why = place() + ": the API answers " + std::to_string(answer.status);
  switch (answer.status) {
    case 401:
      return Error::fatal(ErrorCode::credentials, why + ": give a token that it takes");
    case 403:
      return Error::fatal(ErrorCode::permission_denied, why + ": the token may not read this feed");
    case 404:
      return Error::fatal(ErrorCode::not_found, why + ": there is no such feed");
    default:
      break;
  }
  const bool throttled = answer.status == 429;
  if (!throttled && answer.status != 408 && answer.status < 500) {
    return Error::fatal(ErrorCode::bad_response, why + ", which is no page and not known to pass");
  }
  Error passes = Error::retryable(throttled ? ErrorCode::throttled : ErrorCode::unavailable, why);
  const std::string asked = answer.get_header_value("Retry-After");  // seconds; a date is left to the backoff
  int seconds = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), seconds);
  if (error != std::errc() || end != asked.data() + asked.size() || seconds < 0) return passes;
  return std::move(passes).with_retry_after(std::chrono::seconds(seconds));
}

Result<std::unique_ptr<Page>> FeedClient::read(std::string body, Offset from) {
  auto page = std::make_unique<Page>();
  page->body = std::move(body);
  const std::size_t size = page->body.size();
  page->body.append(millrace::kBytePadding, '\0');  // so that decoders read records where they are
  const std::string_view document(page->body.data(), size);
  Answer answer;
  if (!json_.open(document, millrace::kBytePadding) || !read_json(json_, answer) || !json_.close()) {
    return fail(json_.error().prefixed(place() + ": the answer is no page: ").as(millrace::ErrorClass::fatal));
  }
  std::int64_t least = from.value();
  for (const Item& item : answer.items) {
    if (item.offset < least || item.offset >= answer.next) {
      return fail(Error::fatal(ErrorCode::bad_response,
                               place() + ": asked for offsets from " + std::to_string(from.value()) +
                                   " on, the page that ends at " + std::to_string(answer.next) + " has offset " +
                                   std::to_string(item.offset) + " where at least " + std::to_string(least) +
                                   " is due: the API gives its items other offsets than it did"));
    }
    page->records.push_back(item.record.view);
    page->offsets.emplace_back(item.offset);
    least = item.offset + 1;
  }
  if (answer.next < least) {
    return fail(Error::fatal(ErrorCode::bad_response, place() + ": the page from " + std::to_string(from.value()) +
                                                          " says that the next one begins at " +
                                                          std::to_string(answer.next) + ", which lies before it"));
  }
  page->next = Offset(answer.next);
  page->more = answer.more;
  return page;
}
