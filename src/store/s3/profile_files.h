// SPDX-License-Identifier: Apache-2.0
// ProfileFiles: the shared AWS configuration and credentials files as they stand now. A snapshot; immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct aws_profile_collection;

namespace millrace::s3 {

class ProfileFiles {
 public:
  /// AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/config and ~/.aws/credentials. A missing file is empty.
  [[nodiscard]] static ProfileFiles read();

  /// A setting and the file that it stands in, as a person writes it ("~/.aws/credentials").
  struct Setting {
    std::string value;  ///< empty: not set
    std::string file;
    explicit operator bool() const { return !value.empty(); }
  };
  [[nodiscard]] bool has_profile(const std::string& profile) const;
  /// The credentials file wins, as it does for AWS's own programs.
  [[nodiscard]] Setting get(const std::string& profile, std::string_view key) const;
  /// Of a section [sso-session NAME] of the configuration file.
  [[nodiscard]] std::string get_session(const std::string& session, std::string_view key) const;
  /// "~/.aws/config and ~/.aws/credentials", or what stands for them.
  [[nodiscard]] std::string names() const;

 private:
  struct File {
    std::shared_ptr<aws_profile_collection> profiles;  // empty: no such file
    std::string shown;
  };
  File config_;
  File credentials_;
};

/// `given`, else AWS_PROFILE, else "default".
[[nodiscard]] std::string profile_name(const std::string& given);

/// A path with the home folder as ~.
[[nodiscard]] std::string shown_path(std::string_view path);

}  // namespace millrace::s3
