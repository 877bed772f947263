// SPDX-License-Identifier: Apache-2.0
// Stores that only list, for tests. PagedStore lists what a test makes up, page by page. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// The rest of a store that only lists.
class ListOnlyStore : public ObjectStore {
 public:
  [[nodiscard]] std::string describe() const override { return "only lists"; }
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override {
    request.done({none(), 0});
    return nullptr;
  }
  [[nodiscard]] Result<WholeObject> get(std::string_view, std::size_t, std::optional<Duration>) override {
    return none();
  }
  [[nodiscard]] Result<PutResult> put(const PutRequest& /*request*/) override { return none(); }
  [[nodiscard]] Result<HeadResult> head(std::string_view /*key*/) override { return none(); }
  [[nodiscard]] Result<void> remove(std::string_view /*key*/) override { return none(); }

 private:
  static std::unexpected<Error> none() { return fail(Error::fatal(ErrorCode::not_supported, "only lists")); }
};

class PagedStore final : public ListOnlyStore {
 public:
  /// The page of a number, from 0 on; nothing behind the last. Every page has a token of its own.
  using Pages = std::function<std::optional<std::vector<ObjectInfo>>(std::size_t)>;
  explicit PagedStore(Pages pages) : pages_(std::move(pages)) {}

  [[nodiscard]] Result<ListPage> list(const ListRequest& request) override {
    const std::size_t number = request.continuation.empty() ? 0 : std::stoul(request.continuation.substr(1));
    auto objects = pages_(number);
    if (!objects) return ListPage{};
    return ListPage{*std::move(objects), "t" + std::to_string(number + 1)};
  }

 private:
  Pages pages_;
};

}  // namespace millrace::s3_source
