// SPDX-License-Identifier: Apache-2.0
// How sinks' options spell what becomes of a batch that cannot be written (OnWriteFailure). For the files that declare
// such an option; values only.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "millrace/config/schema.h"
#include "millrace/sink/sink.h"

#pragma GCC visibility push(default)
namespace millrace {

template <>
struct EnumNames<OnWriteFailure> {
  static constexpr std::array<std::pair<std::string_view, OnWriteFailure>, 3> names{
      {{"stall", OnWriteFailure::stall}, {"fail", OnWriteFailure::fail}, {"drop", OnWriteFailure::drop}}};
};

}  // namespace millrace
#pragma GCC visibility pop
