// SPDX-License-Identifier: Apache-2.0
// Preparation::preview: the same steps as run(), by the same functions, so that a plan and a run fail with the same
// words; one after the other, and without a claim.
#include <utility>

#include "connectors/s3/local_folder.h"
#include "connectors/s3/preparation.h"

namespace millrace::s3_source {

Result<Preview> Preparation::preview(bool ask_archived) {
  MILLRACE_TRY(check_local_folder(parts_.settings->url));
  MILLRACE_ASSIGN(Listing listing, lister_.run());
  Preview preview;
  preview.listing = std::make_shared<const Listing>(std::move(listing));
  if (parts_.settings->identity.shard) preview.whole = lister_.whole();
  preview.pages = lister_.pages_so_far();
  auto manifest = parts_.file->load();
  if (!manifest) {
    preview.prepared = fail(std::move(manifest).error());
    return preview;
  }
  preview.manifest = *manifest;
  auto looked = look_over(*preview.listing);
  if (looked && ask_archived) looked = this->ask_archived(*preview.listing);
  preview.prepared =
      looked ? deal(preview.listing, *std::move(manifest)) : Result<Prepared>(fail(std::move(looked).error()));
  return preview;
}

}  // namespace millrace::s3_source
