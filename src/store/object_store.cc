// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/object_store.h"

namespace millrace {
namespace {

std::unexpected<Error> no_uploads(const ObjectStore& store) {
  return fail(Error::fatal(ErrorCode::not_supported, store.describe() + ": this store takes no objects in parts"));
}

}  // namespace

Result<UploadId> ObjectStore::begin_upload(const UploadRequest& /*request*/) { return no_uploads(*this); }

Result<PartResult> ObjectStore::put_part(const UploadId& /*upload*/, int /*number*/, std::string_view /*body*/,
                                         std::optional<Duration> /*timeout*/) {
  return no_uploads(*this);
}

Result<PutResult> ObjectStore::complete_upload(const UploadId& /*upload*/, std::span<const PartResult> /*parts*/,
                                               PutCondition /*condition*/, std::optional<Duration> /*timeout*/) {
  return no_uploads(*this);
}

Result<void> ObjectStore::abort_upload(const UploadId& /*upload*/) { return no_uploads(*this); }

Result<UploadPage> ObjectStore::list_uploads(const ListUploadsRequest& /*request*/) { return no_uploads(*this); }

}  // namespace millrace
