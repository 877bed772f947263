// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_store.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/answer_sink.h"
#include "store/s3/ca_bundle.h"
#include "store/s3/http_date.h"
#include "store/s3/proxy_url.h"
#include "store/s3/put_object.h"
#include "store/s3/request_check.h"
#include "store/s3/s3_session.h"
#include "store/s3/uploads.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestPage = 64U << 20U;  // a page holds 1000 keys of at most 1 KiB, encoded

class S3Store final : public ObjectStore {
 public:
  S3Store(const S3Options& options, const StoreContext& context, Endpoint endpoint, std::unique_ptr<HttpLoop> loop)
      : session_(options, context, std::move(endpoint), std::move(loop)) {}

  [[nodiscard]] std::string describe() const override { return session_.describe(); }
  [[nodiscard]] Result<ListPage> list(const ListRequest& request) override;
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override;
  [[nodiscard]] Result<WholeObject> get(std::string_view key, std::size_t limit,
                                        std::optional<Duration> timeout) override;
  [[nodiscard]] Result<PutResult> put(const PutRequest& request) override { return put_object(session_, request); }
  [[nodiscard]] Result<HeadResult> head(std::string_view key) override;
  [[nodiscard]] Result<void> remove(std::string_view key) override;
  [[nodiscard]] Result<UploadId> begin_upload(const UploadRequest& request) override {
    return s3::begin_upload(session_, request);
  }
  [[nodiscard]] Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                                            std::optional<Duration> timeout) override {
    return s3::put_part(session_, upload, number, body, timeout);
  }
  [[nodiscard]] Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                                  PutCondition condition, std::optional<Duration> timeout) override {
    return s3::complete_upload(session_, upload, parts, condition, timeout);
  }
  [[nodiscard]] Result<void> abort_upload(const UploadId& upload) override {
    return s3::abort_upload(session_, upload);
  }
  [[nodiscard]] Result<UploadPage> list_uploads(const ListUploadsRequest& request) override {
    return s3::list_uploads(session_, request);
  }
  void cancel_all() override { session_.cancel_all(); }
  [[nodiscard]] bool on_loop_thread() const { return session_.on_loop_thread(); }

 private:
  class Read;
  class Handle;
  S3Session session_;
};

// One read: the memory it fills and whom it tells.
class S3Store::Read {
 public:
  explicit Read(ReadRequest request)
      : sink({request.offset, request.destination, std::move(request.if_match), request.expected_object_size}),
        done_(std::move(request.done)) {}
  void finish(Result<HttpHead> result) {
    if (result) return done_({sink.take_info(), sink.received()});
    done_({fail(std::move(result).error()), sink.received()});
  }
  RangeSink sink;

 private:
  std::move_only_function<void(ReadOutcome)> done_;
};

class S3Store::Handle final : public ReadHandle {
 public:
  using Post = std::function<void(std::move_only_function<void()>)>;
  Handle(Post post, S3Client* client, S3Client::CallId id) : post_(std::move(post)), client_(client), id_(id) {}
  // What is posted when the store is gone is dropped, so the client is alive where it is used.
  void cancel() override {
    post_([client = client_, id = id_] { client->cancel(id); });
  }

 private:
  const Post post_;
  S3Client* const client_;
  const S3Client::CallId id_;
};

Result<ListPage> S3Store::list(const ListRequest& asked) {
  S3Request call = session_.request(HttpMethod::get, asked.prefix, "listing");
  call.key.clear();
  QueryPairs query = {{"list-type", "2"}, {"encoding-type", "url"}, {"max-keys", fmt::format("{}", asked.max_keys)}};
  if (!asked.prefix.empty()) query.emplace_back("prefix", asked.prefix);
  // An old server knows no start-after and gives all. Taken out here, its pages would look like those without a key.
  if (!asked.start_after.empty()) query.emplace_back("start-after", asked.start_after);
  if (!asked.continuation.empty()) query.emplace_back("continuation-token", asked.continuation);
  call.query = encode_query(std::move(query));
  call.expected_bytes = asked.max_keys * 300;  // about what a page holds per key
  const std::string doing = call.doing;
  MILLRACE_ASSIGN(const std::string xml, session_.run_for_xml(std::move(call), kLongestPage));
  MILLRACE_ASSIGN(ListPage page, prefixed(parse_listing(xml, asked.prefix), doing));
  if (!page.continuation.empty() && page.continuation == asked.continuation) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 doing + ": the server gave the same continuation token again, which would never end"));
  }
  return page;
}

std::shared_ptr<ReadHandle> S3Store::start_read(ReadRequest asked) {
  const S3Client::CallId id = session_.next_call();
  auto handle = std::make_shared<Handle>(session_.loop().poster(), &session_.client(), id);
  if (asked.destination.empty() || asked.key.empty() || !fits_header(asked.if_match.value)) {
    const char* why = asked.key.empty()           ? "an empty key"
                      : asked.destination.empty() ? "a read of no bytes"
                                                  : "an ETag with control characters";
    asked.done({refused("reading " + session_.name_of(asked.key), fmt::format("{} is refused", why)), 0});
    return handle;
  }
  const std::uint64_t last = asked.offset + asked.destination.size() - 1;
  S3Request call = session_.request(HttpMethod::get, asked.key, "reading");
  call.doing += fmt::format(" (bytes {} to {})", asked.offset, last);
  call.expected_bytes = asked.destination.size();
  call.headers.emplace_back("Range", fmt::format("bytes={}-{}", asked.offset, last));
  if (asked.if_match.pins()) call.headers.emplace_back("If-Match", asked.if_match.value);
  auto read = std::make_unique<Read>(std::move(asked));
  session_.loop().post([this, id, call = std::move(call), read = std::move(read)]() mutable {
    RangeSink& sink = read->sink;
    session_.client().start(id, std::move(call), sink,
                            [read = std::move(read)](Result<HttpHead> result) { read->finish(std::move(result)); });
  });
  return handle;
}

Result<WholeObject> S3Store::get(std::string_view key, std::size_t limit, std::optional<Duration> timeout) {
  S3Request call = session_.request(HttpMethod::get, key, "reading");
  if (timeout) call.timeout = timeout;
  const std::string doing = call.doing;
  if (key.empty()) return refused(doing, "an empty key is refused");
  TextSink sink(limit);
  MILLRACE_ASSIGN(const HttpHead head, session_.run(std::move(call), sink));
  MILLRACE_TRY(check_origin(head, doing));
  return WholeObject{std::move(sink.text()), ETag{std::string(head.header("etag"))}};
}

Result<HeadResult> S3Store::head(std::string_view key) {
  S3Request call = session_.request(HttpMethod::head, key, "asking for");
  const std::string doing = call.doing;
  if (key.empty()) return refused(doing, "an empty key is refused");
  ShortSink sink;
  MILLRACE_ASSIGN(const HttpHead head, session_.run(std::move(call), sink));
  MILLRACE_TRY(check_origin(head, doing));
  const auto size = content_length(head);
  if (!size) {
    return fail(Error::retryable(ErrorCode::bad_response, doing + ": the answer does not tell the object's size"));
  }
  HeadResult result;
  result.info.key = key;
  result.info.size = *size;
  result.info.etag.value = head.header("etag");
  result.info.last_modified = parse_http_date(head.header("last-modified")).value_or(kNoTimestamp);
  result.info.storage_class = head.header("x-amz-storage-class");
  result.content_encoding = head.header("content-encoding");
  result.content_type = head.header("content-type");
  for (const auto& [name, value] : head.headers) {
    constexpr std::string_view kPrefix = "x-amz-meta-";
    if (name.starts_with(kPrefix)) result.metadata.emplace_back(name.substr(kPrefix.size()), value);
  }
  return result;
}

Result<void> S3Store::remove(std::string_view key) {
  S3Request call = session_.request(HttpMethod::remove, key, "deleting");
  const std::string doing = call.doing;
  if (key.empty()) return refused(doing, "an empty key is refused");
  const auto head = session_.run_for_head(std::move(call));
  if (head) return check_origin(*head, doing);
  if (head.error().code() == ErrorCode::not_found) return {};
  return fail(head.error());
}

HttpLoopOptions loop_options(const S3Options& options) {
  HttpLoopOptions loop;
  loop.user_agent = options.user_agent;
  loop.connect_timeout = options.connect_timeout;
  loop.no_progress_timeout = options.no_progress_timeout;
  loop.pool_idle_timeout = options.pool_idle_timeout;
  loop.ca_bundle = options.ca_bundle;
  loop.accept_any_certificate = options.accept_any_certificate;
  loop.proxy_url = options.proxy_url;
  loop.proxy_excludes = options.proxy_excludes;
  return loop;
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> make_store(const S3Options& options, const StoreContext& context) {
  if (options.bucket.empty()) return fail(Error::config("s3://: a url names its bucket: s3://bucket/prefix"));
  MILLRACE_TRY(check_proxy_url(options.proxy_url));
  MILLRACE_TRY(check_ca_bundle(options.ca_bundle));
  MILLRACE_ASSIGN(Endpoint endpoint, Endpoint::make({options.bucket, options.region, options.endpoint,
                                                     options.allow_http, options.virtual_hosted, options.path_style}));
  MILLRACE_ASSIGN(auto loop, HttpLoop::start(loop_options(options)));
  // A completion may drop the last owner, and the loop thread cannot join itself.
  return std::shared_ptr<ObjectStore>(new S3Store(options, context, std::move(endpoint), std::move(loop)),
                                      [](S3Store* store) {
                                        if (!store->on_loop_thread()) {
                                          delete store;
                                          return;
                                        }
                                        Thread("s3-close", [store] { delete store; }).detach();
                                      });
}

}  // namespace millrace::s3

namespace millrace {

Result<std::shared_ptr<ObjectStore>> make_s3_store(const StoreUrl& url, const StoreOptions& options,
                                                   const StoreContext& context) {
  return s3::make_store(s3::read_s3_options(url.bucket, options, s3::process_environment()), context);
}

}  // namespace millrace
