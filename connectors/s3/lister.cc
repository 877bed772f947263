// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/lister.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "connectors/s3/page_trail.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {

Lister::Lister(ObjectStore& store, Request request, RetryPolicy retry, Clock& clock, Random& random, Logger log,
               StopSignal& stop)
    : store_(store),
      request_(std::move(request)),
      retry_(retry),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      stop_(stop) {}

Result<Listing> Lister::run() {
  ListingBuilder builder;
  ListRequest next{.prefix = request_.prefix, .start_after = request_.start_after};
  PageTrail trail;
  do {
    MILLRACE_ASSIGN(ListPage got, page(next));
    auto taken = trail.follow(got);
    if (taken) taken = take(got, builder);
    pages_.fetch_add(1, memory_order_relaxed);
    if (!taken) {
      return fail(
          std::move(taken).error().prefixed(fmt::format("listing {}, page {}: ", request_.url, pages_so_far())));
    }
    next.continuation = std::move(got.continuation);
  } while (!next.continuation.empty());
  auto listing = std::move(builder).finish();
  if (!listing) return fail(std::move(listing).error().prefixed(fmt::format("listing {}: ", request_.url)));
  return listing;
}

Result<ListPage> Lister::page(const ListRequest& request) {
  Tries tries(pages_so_far() == 0 ? retry_.before_the_first_answer() : retry_, random_);
  while (true) {
    if (stop_.requested()) break;
    const SteadyTime asked = clock_.now();
    auto got = store_.list(request);
    if (got) {
      const Duration took = clock_.now() - asked;
      fastest_page_ = pages_so_far() == 0 ? took : std::min(fastest_page_, took);
      return got;
    }
    if (stop_.requested()) break;
    const auto wait = tries.next(got.error(), clock_.now());
    const std::string where = fmt::format("listing {}, page {}", request_.url, pages_so_far() + 1);
    if (!wait) {
      const std::string after = tries.failed() > 1 ? fmt::format(", after {} tries", tries.failed()) : "";
      return fail(std::move(got).error().prefixed(where + after + ": ").as(ErrorClass::fatal));
    }
    log_.warn(where + " failed; trying again", {{"in", tries.wait_text()}, {"error", got.error().describe()}});
    if (stop_.wait(clock_, *wait)) break;
  }
  return fail(Error::fatal(ErrorCode::cancelled, fmt::format("listing {}: stopped after {} pages and {} keys",
                                                             request_.url, pages_so_far(), keys_so_far())));
}

Result<void> Lister::take(const ListPage& page, ListingBuilder& builder) {
  for (const ObjectInfo& object : page.objects) {
    if (!object.key.starts_with(request_.prefix)) {
      return fail(
          Error::fatal(ErrorCode::bad_response,
                       fmt::format("the store named '{}', which does not begin with the prefix that was asked for",
                                   printable(object.key))));
    }
    if (!request_.start_after.empty() && object.key <= request_.start_after) {
      builder.count_filtered();  // a store that ignores start-after
      continue;
    }
    const std::string_view below = std::string_view(object.key).substr(request_.prefix.size());
    if (request_.filter != nullptr && !request_.filter->accepts(below)) {
      builder.count_filtered();
      continue;
    }
    if (request_.limits != nullptr) {
      MILLRACE_ASSIGN(const bool accepted, request_.limits->accept(object));
      if (!accepted) {
        builder.count_filtered();
        continue;
      }
    }
    if (request_.shard) {
      whole_.add(object);
      if (!request_.shard->takes(object.key)) continue;
    }
    MILLRACE_TRY(builder.add(object));
  }
  builder.count_listed(page.objects.size());
  keys_.fetch_add(page.objects.size(), memory_order_relaxed);
  return {};
}

std::string sibling_prefixes(const Listing& listing, std::string_view prefix) {
  constexpr std::size_t kNamed = 5;
  if (prefix.empty() || prefix.ends_with('/')) return {};
  std::set<std::string, std::less<>> siblings;
  std::size_t more = 0;
  bool has_folder_of_its_own = false;
  bool sibling_folder = false;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const std::string_view key = listing[i].key;
    const std::string_view rest = key.substr(prefix.size());
    if (rest.empty()) continue;
    if (rest.starts_with('/')) {
      has_folder_of_its_own = true;
      continue;
    }
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos) sibling_folder = true;
    const std::string_view sibling = slash == std::string_view::npos ? key : key.substr(0, prefix.size() + slash + 1);
    if (siblings.contains(sibling)) continue;
    if (siblings.size() < kNamed) {
      siblings.emplace(sibling);
    } else {
      ++more;
    }
  }
  // `part` for `part-0001`, `part-0002` is a prefix used as one; beside a folder `part/` it is a surprise.
  if (siblings.empty() || (!has_folder_of_its_own && !sibling_folder)) return {};
  std::string text;
  for (const std::string& sibling : siblings) {
    if (!text.empty()) text += ", ";
    text += printable(sibling);
  }
  if (more > 0) text += " and more";
  return text;
}

}  // namespace millrace::s3_source
