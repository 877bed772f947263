// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/rights.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "connectors/s3/kept_listing.h"
#include "millrace/base/printable.h"
#include "millrace/encode/row_book.h"

namespace millrace {
namespace {

/// Gathers rights on the objects of one store. A folder of this machine knows reading and writing only.
class Rights {
 public:
  explicit Rights(std::vector<NeededRight>& all) : all_(all) {}

  void list(const StoreUrl& url, std::string_view why) {
    if (url.scheme == "file") return add("read", where(url, ""), why);
    add("s3:ListBucket",
        url.key.empty() ? fmt::format("s3://{}", url.bucket)
                        : fmt::format("s3://{}, where s3:prefix is {}", url.bucket, printable(url.key)),
        why);
  }
  void list_bucket(const StoreUrl& url, std::string_view why) {
    if (url.scheme != "file") add("s3:ListBucket", fmt::format("s3://{}", url.bucket), why);
  }
  void get(const StoreUrl& url, std::string_view tail, std::string_view why) { object("s3:GetObject", url, tail, why); }
  void put(const StoreUrl& url, std::string_view tail, std::string_view why) { object("s3:PutObject", url, tail, why); }
  void acl(const StoreUrl& url, std::string_view tail, std::string_view why) {
    object("s3:PutObjectAcl", url, tail, why);
  }
  void tags(const StoreUrl& url, std::string_view tail, std::string_view why) {
    object("s3:PutObjectTagging", url, tail, why);
  }
  void abort(const StoreUrl& url, std::string_view tail, std::string_view why) {
    object("s3:AbortMultipartUpload", url, tail, why);
  }
  void list_uploads(const StoreUrl& url, std::string_view why) {
    add("s3:ListBucketMultipartUploads", fmt::format("s3://{}", url.bucket), why);
  }
  void kms(std::string_view key, bool in_parts, std::string_view why) {
    const std::string on = key.empty() ? "the key that encrypts them" : printable(key);
    add("kms:GenerateDataKey", on, why);
    if (in_parts) add("kms:Decrypt", on, "to complete uploads in parts");
  }
  void remove(const StoreUrl& url, std::string_view tail, std::string_view why) {
    object("s3:DeleteObject", url, tail, why);
  }

 private:
  static std::string where(const StoreUrl& url, std::string_view tail) {
    return printable(url.to_string()) + std::string(tail);
  }
  void object(std::string_view action, const StoreUrl& url, std::string_view tail, std::string_view why) {
    const bool file = url.scheme == "file";
    add(!file ? action : action == "s3:GetObject" ? "read" : "write", where(url, tail), why);
  }
  void add(std::string_view action, std::string on, std::string_view why) {
    for (const NeededRight& known : all_) {
      if (known.action == action && known.on == on) return;
    }
    all_.push_back({std::string(action), std::move(on), std::string(why)});
  }

  std::vector<NeededRight>& all_;
};

StoreUrl with_key(StoreUrl url, std::string key) {
  url.key = std::move(key);
  return url;
}

}  // namespace

std::vector<NeededRight> s3_source::rights_of(const Settings& settings, bool keeps_position) {
  std::vector<NeededRight> all;
  Rights rights(all);
  rights.list(settings.url, "to list what is there");
  rights.get(settings.url, "*", "to read the objects");
  const StoreUrl& manifest = settings.checkpoint_url;
  if (keeps_position) {
    const StoreUrl listing = with_key(manifest, listing_key(manifest.key));
    rights.get(manifest, "", "to find the position");
    rights.put(manifest, "", "to keep the position");
    rights.list_bucket(manifest, "or a manifest that is not there yet is answered by 403");
    rights.put(listing, "", "to keep the first listing");
    rights.get(listing, "", "to say what has changed since");
  } else {
    const std::string_view own = folder_of(manifest.key);
    rights.put(with_key(manifest, std::string(folder_of(own.substr(0, own.size() - 1)))), "*",
               "for a position that is gone when the run ends");
  }
  if (!settings.receipt) return all;
  if (keeps_position) {
    const StoreUrl parts = with_key(manifest, key_beside(manifest.key, "receipt-"));
    rights.put(parts, "*", "parts of the receipt");
    rights.get(parts, "*", "to put the receipt together");
    rights.remove(parts, "*", "when it is finished; without it they stay");
  }
  rights.put(settings.receipt_url, "", "the receipt");
  rights.get(settings.receipt_url, "", "to go on with it, and to verify");
  return all;
}

std::vector<NeededRight> s3_sink::rights_of(const CheckedOptions& options) {
  std::vector<NeededRight> all;
  Rights rights(all);
  const StoreUrl below = with_key(options.base, options.keys.front());
  const StoreUrl probe = with_key(options.base, options.probe_key);
  const bool in_parts = options.may_need_parts();
  rights.put(below, "*", "to write the objects");
  if (options.if_exists == IfExists::verify) rights.get(below, "*", "to compare what lies there (if_exists: verify)");
  if (options.if_exists == IfExists::fail) rights.get(below, "*", "to know its own again, where a put went unanswered");
  if (!options.as.settings.acl.empty()) rights.acl(below, "*", "to set their acl");
  if (!options.as.settings.tags.empty()) rights.tags(below, "*", "to set their tags");
  if (options.as.settings.encryption == Encryption::kms)
    rights.kms(options.as.settings.kms_key_id, in_parts, "sse: kms");
  if (in_parts) {
    const StoreUrl ledger = with_key(options.base, options.keys.beside("_millrace/"));
    rights.abort(below, "*", "to end uploads in parts that failed");
    rights.get(below, "*", "to know its own again, where a completion went unanswered");
    rights.put(ledger, "*", "to note which uploads in parts are under way");
    rights.get(ledger, "*", "to find those that a crash has left; without it they stay");
    rights.remove(ledger, "*", "to leave no note behind; without it they stay");
  }
  if (options.traits.recalls) {
    const StoreUrl commits = with_key(options.base, options.keys.beside("_millrace/"));
    rights.put(commits, "*", "to note what is about to be written (delivery: exactly_once)");
    rights.get(commits, "*", "to find what earlier runs noted (delivery: exactly_once)");
  }
  if (options.in_columns() && !options.encode.rows->shape()->settled) {
    const StoreUrl kept = with_key(options.base, options.keys.beside("_millrace/"));
    rights.put(kept, "*", "to keep the columns that were inferred (parquet.schema)");
    rights.get(kept, "*", "to find the columns that an earlier run has kept (parquet.schema)");
  }
  if (options.cleanup_uploads) {
    rights.list_uploads(options.base, "cleanup_uploads");
    rights.abort(below, "*", "cleanup_uploads");
  }
  if (!options.probe) return all;
  rights.put(probe, "", "to try the store at the start (probe)");
  rights.remove(probe, "", "to remove that again; without it, it stays");
  return all;
}

}  // namespace millrace
