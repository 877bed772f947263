// SPDX-License-Identifier: Apache-2.0
#include "store/s3/profile_files.h"

#include <aws/common/string.h>
#include <aws/sdkutils/aws_profile.h>
#include <fmt/format.h>

#include <cstdlib>

#include "millrace/base/printable.h"
#include "store/s3/aws_runtime.h"

namespace millrace::s3 {

namespace {

struct DestroyString {
  void operator()(aws_string* text) const { aws_string_destroy(text); }
};
using AwsString = std::unique_ptr<aws_string, DestroyString>;

AwsString aws_text(std::string_view text) {
  return AwsString(
      aws_string_new_from_array(aws_library(), reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}
std::string text_of(const aws_string* text) {
  return text == nullptr ? std::string() : std::string(aws_string_c_str(text), text->len);
}

std::string property(const aws_profile* section, std::string_view key) {
  const AwsString name = aws_text(key);
  const aws_profile_property* found = section == nullptr ? nullptr : aws_profile_get_property(section, name.get());
  return found == nullptr ? std::string() : text_of(aws_profile_property_get_value(found));
}

const aws_profile* profile_in(const std::shared_ptr<aws_profile_collection>& file, const std::string& profile) {
  if (!file) return nullptr;
  const AwsString name = aws_text(profile);
  return aws_profile_collection_get_profile(file.get(), name.get());
}

std::shared_ptr<aws_profile_collection> load(const AwsString& path, aws_profile_source_type kind) {
  if (!path) return nullptr;
  return {aws_profile_collection_new_from_file(aws_library(), path.get(), kind),
          [](aws_profile_collection* last) { aws_profile_collection_release(last); }};
}

}  // namespace

std::string shown_path(std::string_view path) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  const std::string_view folder = home == nullptr ? "" : home;
  if (folder.size() > 1 && path.starts_with(folder) && path.substr(folder.size()).starts_with('/')) {
    return "~" + printable_key(path.substr(folder.size()));
  }
  return printable_key(path);
}

ProfileFiles ProfileFiles::read() {
  const aws_byte_cursor no_override{};
  const AwsString config(aws_get_config_file_path(aws_library(), &no_override));
  const AwsString credentials(aws_get_credentials_file_path(aws_library(), &no_override));
  ProfileFiles files;
  files.config_ = {load(config, AWS_PST_CONFIG), shown_path(text_of(config.get()))};
  files.credentials_ = {load(credentials, AWS_PST_CREDENTIALS), shown_path(text_of(credentials.get()))};
  return files;
}

bool ProfileFiles::has_profile(const std::string& profile) const {
  return profile_in(config_.profiles, profile) != nullptr || profile_in(credentials_.profiles, profile) != nullptr;
}

ProfileFiles::Setting ProfileFiles::get(const std::string& profile, std::string_view key) const {
  for (const File* file : {&credentials_, &config_}) {
    std::string value = property(profile_in(file->profiles, profile), key);
    if (!value.empty()) return {std::move(value), file->shown};
  }
  return {};
}

std::string ProfileFiles::get_session(const std::string& session, std::string_view key) const {
  if (!config_.profiles) return {};
  const AwsString name = aws_text(session);
  return property(
      aws_profile_collection_get_section(config_.profiles.get(), AWS_PROFILE_SECTION_TYPE_SSO_SESSION, name.get()),
      key);
}

std::string ProfileFiles::names() const { return fmt::format("{} and {}", config_.shown, credentials_.shown); }

std::string profile_name(const std::string& given) {
  const aws_byte_cursor name =
      given.empty() ? aws_byte_cursor{} : aws_byte_cursor_from_array(given.data(), given.size());
  const AwsString chosen(aws_get_profile_name(aws_library(), &name));
  return text_of(chosen.get());
}

}  // namespace millrace::s3
