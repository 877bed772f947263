// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/field_value.h"

#include <array>
#include <charconv>

#include "base/second_text.h"
#include "millrace/decode/json_checker.h"

namespace millrace {
namespace ops {
namespace {

constexpr std::array<std::string_view, 13> kNames{"static",
                                                  "date_time",
                                                  "timestamp_nanos",
                                                  "timestamp_micros",
                                                  "timestamp_millis",
                                                  "timestamp_seconds",
                                                  "uuid_v4",
                                                  "uuid_v7",
                                                  "record_date_time",
                                                  "record_timestamp_nanos",
                                                  "record_timestamp_micros",
                                                  "record_timestamp_millis",
                                                  "record_timestamp_seconds"};
static_assert(kNames.size() == static_cast<std::size_t>(FieldValue::Computed::record_timestamp_seconds) + 1);

}  // namespace

std::string_view name_of(FieldValue::Computed computed) noexcept { return kNames[static_cast<std::size_t>(computed)]; }

std::span<const std::string_view> computed_names() noexcept { return std::span(kNames).subspan(1); }

}  // namespace ops

namespace transforms {
namespace {

using Computed = ops::FieldValue::Computed;
constexpr std::int64_t kMicrosPerSecond = 1'000'000;

void append_number(ByteBuffer& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append({digits, static_cast<std::size_t>(end - digits)});
}

std::int64_t floor_of(std::int64_t number, std::int64_t unit) noexcept {
  return number / unit - static_cast<std::int64_t>(number % unit < 0);
}

bool append_date_time(ByteBuffer& out, UnixMicros time) {
  const std::int64_t second = floor_of(time, kMicrosPerSecond);
  char text[19];
  if (!put_second(second, text)) return false;
  char fraction[6];
  put_digits(fraction, 6, static_cast<std::uint64_t>(time - second * kMicrosPerSecond));
  out.push_back('"');
  out.append({text, sizeof text});
  out.push_back('.');
  out.append({fraction, sizeof fraction});
  out.append("Z\"");
  return true;
}

// RFC 9562: `high` and `low` with version and variant put in.
void append_uuid(ByteBuffer& out, std::uint64_t high, std::uint64_t low, std::uint64_t version) {
  high = (high & ~std::uint64_t{0xF000}) | (version << 12U);
  low = (low & (~std::uint64_t{0} >> 2U)) | (std::uint64_t{1} << 63U);
  constexpr std::string_view kHex = "0123456789abcdef";
  char* to = out.grow(38);
  *to++ = '"';
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *to++ = '-';
    const std::uint64_t half = digit < 16 ? high : low;
    *to++ = kHex[(half >> (60U - 4U * (static_cast<unsigned>(digit) & 15U))) & 15U];
  }
  *to = '"';
}

/// False when the time is not there, or has no place in 64 bits.
bool append_time(ByteBuffer& out, UnixMicros time, Computed as) {
  if (time == kNoTimestamp) return false;
  switch (as) {
    case Computed::date_time:
    case Computed::record_date_time:
      return append_date_time(out, time);
    case Computed::timestamp_nanos:
    case Computed::record_timestamp_nanos: {
      std::int64_t nanos = 0;
      if (__builtin_mul_overflow(time, std::int64_t{1000}, &nanos)) return false;
      append_number(out, nanos);
      return true;
    }
    case Computed::timestamp_micros:
    case Computed::record_timestamp_micros:
      append_number(out, time);
      return true;
    case Computed::timestamp_millis:
    case Computed::record_timestamp_millis:
      append_number(out, floor_of(time, 1000));
      return true;
    default:
      append_number(out, floor_of(time, kMicrosPerSecond));
      return true;
  }
}

UnixMicros time_of(const RecordMeta& meta) noexcept {
  if (meta.timestamp != kNoTimestamp || meta.origin == nullptr) return meta.timestamp;
  return meta.origin->last_modified;
}

}  // namespace

bool varies(Computed computed) noexcept { return computed != Computed::none && computed < Computed::record_date_time; }

Computed by_the_clock(Computed of_the_record) noexcept {
  constexpr int kApart = static_cast<int>(Computed::record_date_time) - static_cast<int>(Computed::date_time);
  return static_cast<Computed>(static_cast<int>(of_the_record) - kApart);
}

Result<void> check_value(const ops::FieldValue& value) {
  if (value.computed != Computed::none) return {};
  JsonChecker checker;
  decode::Json json;
  if (checker.check(value.json, 0, json)) return {};
  return fail(Error::config("the static value is no JSON: " + checker.error().message()));
}

bool append_value(const ops::FieldValue& value, RunContext& context, ByteBuffer& out) {
  switch (value.computed) {
    case Computed::none:
      out.append(value.json);
      return true;
    case Computed::uuid_v4: {
      const std::uint64_t high = context.random->next();
      append_uuid(out, high, context.random->next(), 4);
      return true;
    }
    case Computed::uuid_v7: {
      const auto millis = static_cast<std::uint64_t>(floor_of(context.now(), 1000));
      const std::uint64_t low = context.random->next();
      append_uuid(out, millis << 16U | (context.random->next() & 0xFFFU), low, 7);
      return true;
    }
    default:
      return append_time(out, varies(value.computed) ? context.now() : time_of(*context.meta), value.computed);
  }
}

}  // namespace transforms
}  // namespace millrace
