// SPDX-License-Identifier: Apache-2.0
// Request: a command and its payload, which a framing puts its header in front of. One owner, one thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "connectors/iggy_client/classic_frame.h"
#include "connectors/iggy_client/codes.h"
#include "connectors/iggy_client/vsr_frame.h"
#include "millrace/base/bytes.h"

namespace millrace::iggy {

class Request {
 public:
  /// Room for either header stands in front of the payload, so that nothing is moved to send it.
  explicit Request(Command command) : command_(command) { static_cast<void>(bytes_.grow(kVsrHeader)); }

  [[nodiscard]] Command command() const noexcept { return command_; }
  [[nodiscard]] ByteBuffer& bytes() noexcept { return bytes_; }
  [[nodiscard]] std::string_view payload() const noexcept { return bytes_.view().substr(kVsrHeader); }
  /// Something in it cannot be said on the wire: a name without bytes, or with too many.
  [[nodiscard]] bool invalid() const noexcept { return invalid_; }
  void set_invalid(bool invalid) noexcept { invalid_ = invalid_ || invalid; }

  /// The whole request; valid until the next call.
  [[nodiscard]] std::string_view classic_frame() noexcept {
    char* const at = bytes_.data() + kVsrHeader - kClassicHeader;
    write_classic_header(command_, payload().size(), at);
    return {at, kClassicHeader + payload().size()};
  }
  [[nodiscard]] std::string_view vsr_frame(const RequestIds& ids) noexcept {
    write_vsr_header(command_, ids, payload(), bytes_.data());
    return bytes_.view();
  }

 private:
  Command command_;
  ByteBuffer bytes_;
  bool invalid_ = false;
};

}  // namespace millrace::iggy
