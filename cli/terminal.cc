// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "millrace/base/utf8.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kUsualWidth = 80;

/// `line` in at most `width` columns, a character being one; escape sequences take none.
std::string cut(std::string_view line, std::size_t width) {
  std::string out;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      const std::size_t end = std::min(line.find('m', at), line.size() - 1) + 1;
      out += line.substr(at, end - at);
      at = end;
      continue;
    }
    std::size_t end = at + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) ++end;
    if (columns < width) out += line.substr(at, end - at);
    ++columns;
    at = end;
  }
  return out;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

}  // namespace

Terminal::Terminal(int descriptor) : descriptor_(descriptor) {
  const char* kind = std::getenv("TERM");
  can_redraw_ = ::isatty(descriptor) == 1 && kind != nullptr && kind[0] != '\0' && std::string_view(kind) != "dumb";
  has_colours_ = can_redraw_ && !is_set("NO_COLOR");
}

Terminal::~Terminal() { clear(); }

std::size_t Terminal::width() const {
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long given = columns != nullptr ? std::strtol(columns, nullptr, 10) : 0;
  return given > 0 ? static_cast<std::size_t>(given) : kUsualWidth;
}

void Terminal::write(std::string_view text) {
  const MutexLock lock(mutex_);
  write_all(erased() + std::string(text) + drawn());
}

void Terminal::draw(std::vector<std::string> lines) {
  if (!can_redraw_) return;
  const std::size_t columns = width();
  for (std::string& line : lines) line = cut(line, columns > 1 ? columns - 1 : 1);
  const MutexLock lock(mutex_);
  if (block_.empty() && lines.empty()) return;
  std::string text = erased();
  block_ = std::move(lines);
  write_all(text + drawn());
}

std::string Terminal::erased() const {
  // Up to the first line of the block, then all below it goes.
  return block_.empty() ? std::string() : fmt::format("\x1b[{}A\r\x1b[J", block_.size());
}

std::string Terminal::drawn() const {
  std::string text;
  for (const std::string& line : block_) text += line + "\n";
  return text;
}

void Terminal::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody reads what is written there
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view valid = text.substr(0, first_invalid_utf8(text));
    for (const char c : valid) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
        out += fmt::format("\\x{:02x}", byte);
      } else {
        out += c;
      }
    }
    text.remove_prefix(valid.size());
    if (text.empty()) break;
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace millrace::cli
