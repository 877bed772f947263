// SPDX-License-Identifier: Apache-2.0
#include "position_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

using millrace::Error;
using millrace::ErrorCode;
using millrace::fail;
using millrace::Result;

namespace {

Error system_error(const std::string& what) {
  return Error::retryable(ErrorCode::io, what + ": " + std::generic_category().message(errno));
}

// Writes `text` (nothing for a folder) and waits until the disk has it.
Result<void> write_and_sync(const std::string& path, int flags, const std::string& text) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) return fail(system_error("opening " + path));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) break;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  Result<void> result;
  if (done < text.size() || ::fsync(file) != 0) result = fail(system_error("writing " + path));
  ::close(file);
  return result;
}

}  // namespace

Result<Positions> read_positions(const std::string& path) {
  Positions positions;
  if (std::error_code error; !std::filesystem::exists(path, error) && !error) return positions;
  std::ifstream file(path);
  if (!file) return fail(system_error("opening " + path));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::int64_t offset = -1;
    std::string feed;
    std::string rest;
    if (!(words >> offset >> feed) || offset < 0 || words >> rest) {
      return fail(Error::fatal(ErrorCode::corrupt, path + ", line " + std::to_string(number) + ": '" + line +
                                                       "' is no offset and feed, as in '1500 /orders': mend the line, "
                                                       "or remove the file to begin anew"));
    }
    positions[feed] = offset;
  }
  if (file.bad()) return fail(system_error("reading " + path));
  return positions;
}

Result<void> write_positions(const std::string& path, const Positions& positions) {
  std::string text;
  for (const auto& [feed, offset] : positions) text += std::to_string(offset) + " " + feed + "\n";
  // A new file under another name, and only when the disk has it the name that counts.
  const std::string fresh = path + ".new";
  MILLRACE_TRY(write_and_sync(fresh, O_WRONLY | O_CREAT | O_TRUNC, text));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return fail(system_error("renaming " + fresh));
  const std::string folder = std::filesystem::path(path).parent_path();
  return write_and_sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, "");
}
