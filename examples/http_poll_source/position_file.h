// SPDX-License-Identifier: Apache-2.0
// Positions in a small file: one line for each feed, the offset to go on at and the feed's path.
#pragma once

#include <millrace/base/result.h>

#include <cstdint>
#include <map>
#include <string>

using Positions = std::map<std::string, std::int64_t>;

/// Empty where there is no such file. A file that is not of this kind is a fatal error: nobody guesses where to go on.
[[nodiscard]] millrace::Result<Positions> read_positions(const std::string& path);
/// Durable on return, and never half there: who dies in between leaves the file of before.
[[nodiscard]] millrace::Result<void> write_positions(const std::string& path, const Positions& positions);
