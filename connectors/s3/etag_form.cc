// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/etag_form.h"

namespace millrace::s3_source {

std::string_view opaque_tag(std::string_view etag) noexcept {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
  return etag;
}

TagForm form_of(std::string_view etag) noexcept { return etag.starts_with('"') ? TagForm::quoted : TagForm::bare; }

std::string in_form(std::string_view etag, TagForm form) {
  const std::string tag(form == TagForm::as_listed ? etag : opaque_tag(etag));
  return form == TagForm::quoted ? '"' + tag + '"' : tag;
}

}  // namespace millrace::s3_source
