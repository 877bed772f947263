// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/as_quarantined.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace millrace::s3_source {
namespace {

ObjectInfo info_of(const ListedObject& listed) {
  return {.key = std::string(listed.key),
          .size = listed.size,
          .etag = {std::string(listed.etag)},
          .last_modified = listed.last_modified,
          .storage_class = listed.kind == ObjectKind::archived ? "GLACIER" : ""};
}

ObjectInfo info_of(const QuarantinedObject& aside) {
  return {.key = aside.key, .size = aside.size, .etag = {aside.etag}};
}

std::vector<const QuarantinedObject*> by_key(const Quarantine& quarantine) {
  std::vector<const QuarantinedObject*> sorted;
  sorted.reserve(quarantine.size());
  for (const QuarantinedObject& object : quarantine) sorted.push_back(&object);
  std::ranges::sort(sorted, {}, [](const QuarantinedObject* object) -> std::string_view { return object->key; });
  return sorted;
}

/// In the order of the keys: what is there now, what was set aside, or both. Ends with what `each` fails with.
template <class Each>
Result<void> merge(const Listing& now, const Quarantine& quarantine, Each&& each) {
  const auto aside = by_key(quarantine);
  auto next = aside.begin();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const ListedObject listed = now[i];
    for (; next != aside.end() && (*next)->key < listed.key; ++next) MILLRACE_TRY(each(nullptr, *next));
    const bool both = next != aside.end() && (*next)->key == listed.key;
    MILLRACE_TRY(each(&listed, both ? *next : nullptr));
    if (both) ++next;
  }
  for (; next != aside.end(); ++next) MILLRACE_TRY(each(nullptr, *next));
  return {};
}

}  // namespace

Result<Listing> as_quarantined(const Listing& now, const Quarantine& quarantine) {
  ListingBuilder builder;
  MILLRACE_TRY(merge(now, quarantine, [&](const ListedObject* listed, const QuarantinedObject* aside) {
    if (aside == nullptr) return builder.add(info_of(*listed));
    ObjectInfo info = info_of(*aside);
    if (listed != nullptr) info.last_modified = listed->last_modified;
    return builder.add(info);
  }));
  return std::move(builder).finish();
}

WholeListing as_quarantined(WholeListing whole, const Listing& now, const Quarantine& quarantine) {
  std::ignore = merge(now, quarantine, [&](const ListedObject* listed, const QuarantinedObject* aside) -> Result<void> {
    if (aside == nullptr) return {};
    if (listed != nullptr) {
      WholeListing there;
      there.add(info_of(*listed));
      --whole.objects;
      whole.bytes -= std::min(whole.bytes, there.bytes);
      whole.hash -= there.hash;
    }
    whole.add(info_of(*aside));
    return {};
  });
  return whole;
}

}  // namespace millrace::s3_source
