// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/upload_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "tests/s3_fault_server/sigv4_check.h"

namespace millrace::testing {

namespace {

constexpr UploadRefusal kNoSuchUpload{404, "NoSuchUpload",
                                      "The specified upload does not exist. The upload ID may be invalid, or the "
                                      "upload may have been aborted or completed."};
constexpr UploadRefusal kInvalidPart{400, "InvalidPart",
                                     "One or more of the specified parts could not be found, or its entity tag does "
                                     "not match"};
constexpr UploadRefusal kInvalidPartOrder{400, "InvalidPartOrder", "The list of parts was not in ascending order"};
constexpr UploadRefusal kEntityTooSmall{400, "EntityTooSmall",
                                        "Your proposed upload is smaller than the minimum allowed size"};
constexpr UploadRefusal kUnequal{400, "InvalidPart", "All parts but the last must be of one size"};
constexpr UploadRefusal kNoParts{400, "MalformedXML", "The XML you provided was not well-formed"};
constexpr UploadRefusal kPartNumber{400, "InvalidArgument", "Part number must be an integer between 1 and the limit"};

std::string bytes_of_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(digit(hex[at]) * 16 + digit(hex[at + 1]));
  }
  return bytes;
}

}  // namespace

std::string UploadTable::begin(BegunUpload upload) {
  const MutexLock lock(mutex_);
  // Characters that careless clients do not encode.
  upload.id = fmt::format("up+load/{:04}==", ++begun_);
  std::string id = upload.id;
  uploads_.emplace(id, std::move(upload));
  return id;
}

std::optional<UploadRefusal> UploadTable::put_part(std::string_view id, std::string_view key, int number,
                                                   UploadedPart part) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.key != key) return kNoSuchUpload;
  if (number < 1 || number > rules_.most_parts) return kPartNumber;
  found->second.parts.insert_or_assign(number, std::move(part));
  return std::nullopt;
}

std::optional<UploadRefusal> UploadTable::join(std::string_view id, std::string_view key,
                                               const std::vector<NamedPart>& parts, BegunUpload& out) const {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.key != key) return kNoSuchUpload;
  if (parts.empty()) return kNoParts;
  out = found->second;
  std::string bytes;
  std::string digests;
  std::map<int, UploadedPart> named;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && parts[i].number <= parts[i - 1].number) return kInvalidPartOrder;
    const auto part = out.parts.find(parts[i].number);
    if (part == out.parts.end() || part->second.etag != parts[i].etag) return kInvalidPart;
    const bool last = i + 1 == parts.size();
    if (!last && part->second.bytes.size() < rules_.least_bytes) return kEntityTooSmall;
    const std::size_t first_size = out.parts.at(parts[0].number).bytes.size();
    if (rules_.equal_sizes && (last ? part->second.bytes.size() > first_size : part->second.bytes.size() != first_size))
      return kUnequal;
    bytes += part->second.bytes;
    digests += bytes_of_hex(std::string_view(part->second.etag).substr(1, 32));
    named.insert(*part);
  }
  out.parts = std::move(named);
  out.object.bytes = std::make_shared<const std::string>(std::move(bytes));
  out.object.etag = fmt::format("\"{}-{}\"", md5_hex(digests), parts.size());
  return std::nullopt;
}

bool UploadTable::end(std::string_view id, std::string_view key) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.key != key) return false;
  uploads_.erase(found);
  return true;
}

std::size_t UploadTable::end_all(std::string_view bucket, std::string_view key) {
  const MutexLock lock(mutex_);
  return std::erase_if(uploads_, [&](const auto& entry) {
    return entry.second.bucket == bucket && (key.empty() || entry.second.key == key);
  });
}

std::vector<BegunUpload> UploadTable::uploads(std::string_view bucket) const {
  std::vector<BegunUpload> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, upload] : uploads_) {
      if (upload.bucket == bucket) all.push_back(upload);
    }
  }
  std::ranges::sort(all, {}, [](const BegunUpload& upload) { return std::tie(upload.key, upload.id); });
  return all;
}

}  // namespace millrace::testing
