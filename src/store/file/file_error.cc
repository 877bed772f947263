// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "millrace/base/printable.h"

namespace millrace {

Error file_error(int error_number, std::string_view path, std::string_view doing) {
  const std::string text = fmt::format("{}: cannot {}: {}", printable_key(path), doing,
                                       std::error_code(error_number, std::generic_category()).message());
  switch (error_number) {
    case ENOENT:
      return Error::fatal(ErrorCode::not_found, text);
    case EACCES:
    case EPERM:
    case EROFS:
      return Error::fatal(ErrorCode::permission_denied,
                          text + "; the program needs to read its input folder and to write its output folder");
    case ENAMETOOLONG:
      return Error::fatal(ErrorCode::invalid_request, text + "; a name in a folder has at most 255 bytes");
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
      return Error::fatal(ErrorCode::invalid_request,
                          text + "; on a file system a name is either a file or a folder, never both");
    case ELOOP:
      return Error::fatal(ErrorCode::invalid_request, text);
    case ENOSPC:
    case EDQUOT:
      return Error::retryable(ErrorCode::out_of_space, text + "; make room, the run goes on by itself");
    case EFBIG:
      return Error::fatal(ErrorCode::limit, text +
                                                "; the process or the file system allows no file of that size "
                                                "(ulimit -f): raise the limit, or write smaller files");
    case EMFILE:
    case ENFILE:
      return Error::retryable(ErrorCode::unavailable, text + "; raise the limit of open files (ulimit -n)");
    case ENOMEM:
    case EAGAIN:
      return Error::retryable(ErrorCode::unavailable, text);
    default:
      return Error::retryable(ErrorCode::io, text);
  }
}

}  // namespace millrace
