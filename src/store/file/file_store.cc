// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "millrace/base/printable.h"
#include "store/checksum/checksum.h"
#include "store/file/descriptor.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/file_put.h"
#include "store/file/page_cache.h"
#include "store/file/temporary_name.h"

namespace millrace {
namespace {

constexpr std::size_t kOpenWalks = 4;          ///< listings remembered between two pages
constexpr std::size_t kReadSlice = 1U << 20U;  ///< between two looks at cancel

bool same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Error changed(std::string_view path, std::string_view was, std::string_view is) {
  return Error::fatal(ErrorCode::precondition_failed,
                      fmt::format("{}: is another object now: its ETag is {}, not {}", printable_key(path), is, was));
}

/// A regular file opened for reading, with its status.
struct OpenFile {
  Descriptor descriptor;
  struct stat status{};
};
Result<OpenFile> open_file(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold the thread; it means nothing for regular files.
  OpenFile file{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
  if (!file.descriptor.valid()) return fail(file_error(errno == ENOTDIR ? ENOENT : errno, path, "be opened"));
  if (::fstat(file.descriptor.get(), &file.status) != 0) return fail(file_error(errno, path, "be looked at"));
  if (!S_ISREG(file.status.st_mode)) {
    return fail(Error::fatal(ErrorCode::not_found,
                             fmt::format("{}: is not a regular file, so it is no object", printable_key(path))));
  }
  return file;
}

std::string with_slash(std::string root) {
  if (!root.ends_with('/')) root += '/';
  return root;
}

}  // namespace

FileStore::FileStore(FileStoreOptions options, StoreContext context)
    : root_(with_slash(std::move(options.root))),
      context_(std::move(context)),
      folders_(context_.log),
      pool_(options.read_threads, [this](ReadJob& job) { job.request.done(read(job)); }) {}

FileStore::~FileStore() { cancel_all(); }

std::string FileStore::describe() const { return "file://" + root_; }

Result<void> FileStore::going_on() const {
  if (!cancelled_.load(memory_order_relaxed)) return {};
  return fail(Error::fatal(ErrorCode::cancelled, describe() + ": cancelled: the run is ending"));
}

Result<std::string> FileStore::path_for(std::string_view key, ErrorCode otherwise) const {
  MILLRACE_TRY(going_on());
  if (is_file_key(key)) return path_of(root_, key);
  return fail(Error::fatal(otherwise, fmt::format("{}{}: no file can have this name: it holds an empty, '.' or '..' "
                                                  "segment or a NUL byte",
                                                  describe(), printable_key(key))));
}

Result<void> FileStore::refuse_settings(std::string_view path, const ObjectSettings& settings) const {
  const auto names = names_of(settings);
  if (names.empty()) return {};
  return fail(Error::fatal(ErrorCode::not_supported, fmt::format("{}: a file has no place for {}: leave that out here",
                                                                 printable_key(path), fmt::join(names, ", "))));
}

std::int64_t FileStore::next_stamp() {
  return context_.clock->unix_micros() * 1000 +
         static_cast<std::int64_t>(puts_.fetch_add(1, memory_order_relaxed) % 1000);
}

/// The walk that the page before left, or a new one that starts behind its last key (the token carries it).
std::unique_ptr<FileWalk> FileStore::resume_walk(const ListRequest& request) {
  std::string after = request.start_after;
  if (!request.continuation.empty()) {
    std::uint64_t id = 0;
    const char* const end = request.continuation.data() + request.continuation.size();
    const auto number = std::from_chars(request.continuation.data(), end, id);
    if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':') return nullptr;
    after = std::max(after, std::string(number.ptr + 1, end));
    const MutexLock lock(mutex_);
    const auto open = std::ranges::find(walks_, id, &OpenWalk::id);
    if (open != walks_.end()) {
      std::unique_ptr<FileWalk> walk = std::move(open->walk);
      walks_.erase(open);
      return walk;
    }
  }
  return std::make_unique<FileWalk>(root_, request.prefix, std::move(after), context_.log);
}

Result<ListPage> FileStore::list(const ListRequest& request) {
  MILLRACE_TRY(going_on());
  auto walk = resume_walk(request);
  if (walk == nullptr) {
    return fail(Error::fatal(ErrorCode::invalid_request, describe() + ": the continuation token is not one of mine"));
  }
  ListPage page;
  MILLRACE_ASSIGN(page.objects, walk->next(std::max<std::size_t>(request.max_keys, 1)));
  if (walk->ended()) return page;
  const MutexLock lock(mutex_);
  const std::uint64_t id = next_walk_++;
  page.continuation = fmt::format("{}:{}", id, page.objects.back().key);
  walks_.push_front({id, std::move(walk)});
  if (walks_.size() > kOpenWalks) walks_.pop_back();
  return page;
}

std::shared_ptr<ReadHandle> FileStore::start_read(ReadRequest request) {
  auto job = std::make_shared<ReadJob>(std::move(request));
  pool_.start(job);
  return job;
}

ReadOutcome FileStore::read(ReadJob& job) const {
  const ReadRequest& request = job.request;
  std::size_t received = 0;
  const auto failed = [&](Error error) { return ReadOutcome{fail(std::move(error)), received}; };
  if (request.destination.empty()) {
    return failed(Error::fatal(ErrorCode::invalid_request, "a read of no bytes was asked for"));
  }
  auto path = path_for(request.key, ErrorCode::not_found);
  if (!path) return failed(std::move(path).error());
  auto opened = open_file(*path);
  if (!opened) return failed(std::move(opened).error());
  const struct stat& status = opened->status;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!request.if_match.empty() && tag_of(status) != request.if_match) {
    return failed(changed(*path, request.if_match.value, tag_of(status).value));
  }
  if (request.expected_object_size && *request.expected_object_size != size) {
    return failed(Error::fatal(ErrorCode::drift, fmt::format("{}: has {} bytes now, not {}", printable_key(*path), size,
                                                             *request.expected_object_size)));
  }
  if (request.offset > size || request.destination.size() > size - request.offset) {
    return failed(Error::fatal(ErrorCode::invalid_request,
                               fmt::format("{}: {} bytes from {} are not a range of its {} bytes", printable_key(*path),
                                           request.destination.size(), request.offset, size)));
  }
  while (received < request.destination.size()) {
    if (job.cancelled() || cancelled_.load(memory_order_relaxed)) {
      received = 0;  // not yet compared with the ETag
      return failed(
          Error::fatal(ErrorCode::cancelled, fmt::format("{}: the read was cancelled", printable_key(*path))));
    }
    const std::size_t slice = std::min(kReadSlice, request.destination.size() - received);
    const ssize_t got = ::pread(opened->descriptor.get(), request.destination.data() + received, slice,
                                static_cast<off_t>(request.offset + received));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int why = errno;
      received = 0;
      return failed(file_error(why, *path, "be read"));
    }
    if (got == 0) break;  // cut short under our hands: the look below says so
    received += static_cast<std::size_t>(got);
  }
  // A writer that changes the file in place would splice two contents; the second look tells.
  struct stat after{};
  if (::fstat(opened->descriptor.get(), &after) != 0 || !same(status, after) || received < request.destination.size()) {
    received = 0;
    return failed(changed(*path, tag_of(status).value, tag_of(after).value));
  }
  return {ReadInfo{size, tag_of(status), modified(status), ""}, received};
}

// As read(), but whatever does not go smoothly is left to it.
std::optional<ReadInfo> FileStore::read_at_once(const ReadRequest& request) {
  const auto path = path_for(request.key, ErrorCode::not_found);
  if (!path || request.destination.empty()) return std::nullopt;
  const auto opened = open_file(*path);
  if (!opened) return std::nullopt;
  const struct stat& status = opened->status;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  ETag tag = tag_of(status);
  if (!request.if_match.empty() && tag != request.if_match) return std::nullopt;
  if (request.expected_object_size && *request.expected_object_size != size) return std::nullopt;
  if (!read_cached(opened->descriptor.get(), request.destination, request.offset)) return std::nullopt;
  struct stat after{};
  if (::fstat(opened->descriptor.get(), &after) != 0 || !same(status, after)) return std::nullopt;
  return ReadInfo{size, std::move(tag), modified(status), ""};
}

Result<WholeObject> FileStore::get(std::string_view key, std::size_t limit, std::optional<Duration> /*timeout*/) {
  MILLRACE_ASSIGN(const std::string path, path_for(key, ErrorCode::not_found));
  MILLRACE_ASSIGN(const OpenFile file, open_file(path));
  const auto size = static_cast<std::uint64_t>(file.status.st_size);
  if (size > limit) {
    return fail(Error::fatal(ErrorCode::too_large, fmt::format("{}: has {} bytes; at most {} are read whole",
                                                               printable_key(path), size, limit)));
  }
  WholeObject object{std::string(size, '\0'), tag_of(file.status)};
  for (std::size_t received = 0; received < size;) {
    const ssize_t got =
        ::pread(file.descriptor.get(), object.bytes.data() + received, size - received, static_cast<off_t>(received));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(file_error(errno, path, "be read"));
    if (got == 0) break;
    received += static_cast<std::size_t>(got);
  }
  struct stat after{};
  if (::fstat(file.descriptor.get(), &after) != 0 || !same(file.status, after)) {
    return fail(Error::retryable(ErrorCode::io, fmt::format("{}: was changed while it was read", printable_key(path))));
  }
  return object;
}

Result<PutResult> FileStore::put(const PutRequest& request) {
  MILLRACE_ASSIGN(const std::string path, path_for(request.key, ErrorCode::invalid_request));
  MILLRACE_TRY(refuse_settings(path, request.settings));
  FilePut put{path, request.body, request.condition, request.etag, "", 0};
  put.temporary = TemporaryName::make(context_.random->next());
  put.modified_ns = next_stamp();
  auto tag = put_file(put);
  // A refused put tells its caller that something durable is there, so its folder is owed the same.
  if (tag || tag.error().code() == ErrorCode::precondition_failed) {
    MILLRACE_TRY(folders_.attend(std::string(folder_of(path))));
  }
  if (!tag) return fail(std::move(tag).error());
  return PutResult{*std::move(tag), checksum_of(request.checksum, request.body)};
}

Result<HeadResult> FileStore::head(std::string_view key) {
  MILLRACE_ASSIGN(const std::string path, path_for(key, ErrorCode::not_found));
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(file_error(errno == ENOTDIR ? ENOENT : errno, path, "be looked at"));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Error::fatal(ErrorCode::not_found,
                             fmt::format("{}: is not a regular file, so it is no object", printable_key(path))));
  }
  return HeadResult{
      {std::string(key), static_cast<std::uint64_t>(status.st_size), tag_of(status), modified(status), ""}, {}, ""};
}

Result<void> FileStore::remove(std::string_view key) {
  MILLRACE_TRY(going_on());
  if (!is_file_key(key)) return {};
  return remove_file(path_of(root_, key));
}

// A file in the page cache is copied at the speed of memory: small reads stay in the cache of the core that decodes,
// which best copies them itself; and more than a few in flight push each other out of it.
ReadAdvice FileStore::read_advice() const { return {512U << 10U, 4, /*reads_at_once=*/true}; }

void FileStore::cancel_all() {
  cancelled_.store(true, memory_order_relaxed);
  pool_.cancel();
}

std::shared_ptr<ObjectStore> make_file_store(FileStoreOptions options, StoreContext context) {
  return std::make_shared<FileStore>(std::move(options), std::move(context));
}

}  // namespace millrace
