// SPDX-License-Identifier: Apache-2.0
#include "millrace/codec/zstd_frame.h"

#include <zstd.h>

#include <utility>

#include "millrace/base/check.h"

namespace millrace {
namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;

struct Free {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

}  // namespace

struct ZstdFrame::Impl {
  void add(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    while (left != 0 && (end == ZSTD_e_end || in.pos < in.size)) {
      const std::size_t at = frame.size();
      frame.resize(at + kBlock);
      ZSTD_outBuffer out{frame.data() + at, kBlock, 0};
      left = ZSTD_compressStream2(context.get(), &out, &in, end);
      MILLRACE_CHECK(ZSTD_isError(left) == 0U, "libzstd cannot compress");
      frame.resize(at + out.pos);
    }
  }
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
  std::string frame;
};

ZstdFrame::ZstdFrame() : impl_(std::make_unique<Impl>()) {
  MILLRACE_CHECK(impl_->context != nullptr, "no memory for a zstd context");
  ZSTD_CCtx_setParameter(impl_->context.get(), ZSTD_c_checksumFlag, 1);
}

ZstdFrame::~ZstdFrame() = default;

void ZstdFrame::write(std::string_view bytes) { impl_->add(bytes, ZSTD_e_continue); }

std::string ZstdFrame::finish() {
  impl_->add({}, ZSTD_e_end);
  return std::move(impl_->frame);
}

}  // namespace millrace
