// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/lane.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/codec_choice.h"
#include "connectors/s3/way_out.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

// Counting off the committed records of a large object must not keep the lane's neighbours waiting.
constexpr int kWindowsOfOnePoll = 8;

}  // namespace

S3Lane::S3Lane(LaneId id, Setup setup, LaneRoute route, std::shared_ptr<LaneProgress> progress)
    : id_(id),
      setup_(std::move(setup)),
      progress_(std::move(progress)),
      feed_(setup_.fetch->feed(id.value())),
      route_(std::move(route)),
      ordinal_(route_.ordinal_or_end()),
      reader_(setup_.framer(setup_.framer_options), {.digest = setup_.receipt}) {}

S3Lane::~S3Lane() { feed_.set_waker({}); }

bool S3Lane::set_waker(Waker waker) {
  waker_ = waker;
  feed_.set_waker(std::move(waker));
  return true;
}

Result<PollResult> S3Lane::poll(std::size_t max_records, Duration timeout) {
  const SteadyTime deadline = waker_ || timeout <= Duration::zero() ? SteadyTime::min() : setup_.clock->now() + timeout;
  while (true) {
    if (failed_) return fail(*failed_);
    const EventCount::Ticket ticket = feed_.ticket();
    auto result =
        setup_.failure->happened() ? Result<PollResult>(std::unexpect, *setup_.failure->error()) : step(max_records);
    if (!result) {
      failed_ = result.error();
      return result;
    }
    if (!std::holds_alternative<Idle>(*result) || deadline == SteadyTime::min() || setup_.clock->now() >= deadline) {
      return result;
    }
    feed_.wait_until(ticket, *setup_.clock, deadline);
  }
}

Result<PollResult> S3Lane::step(std::size_t max_records) {
  if (!setup_.quarantine) return advance(max_records);
  // The latest batch was delivered, and its frames are still there.
  fold(lent_.from, std::exchange(lent_.count, 0));
  if (leaving_) return leave_object();
  auto result = advance(max_records);
  if (result || !is_fault_of_object(result.error().code())) return result;
  note_fault(ordinal_, index_ + discard_, result.error());
  return leave_object();
}

Result<PollResult> S3Lane::advance(std::size_t max_records) {
  if (!reading_) {
    if (route_.at_end()) return Exhausted{};
    MILLRACE_ASSIGN(PollResult begun, begin_object());
    if (!reading_) return begun;
  }
  return frame(max_records);
}

/// The next object: begins to read it, completes it at once when it holds no bytes, or has to wait for them.
Result<PollResult> S3Lane::begin_object() {
  discard_ = route_.written();
  MILLRACE_TRY(check_visit());
  if (!object().has_bytes()) {
    // One empty batch completes a whole run of them: markers come by the thousand.
    return completion_batch(
        route_.last_of_run([](const LaneRoute& at) { return !at.object().has_bytes() && at.visit() == nullptr; }));
  }
  auto piece = take_piece();
  if (!piece) return Idle{};
  if (piece->error) {
    setup_.fetch->release(id_.value(), piece->charge);
    return fail(*std::move(piece->error));
  }
  if (piece->skipped) {
    setup_.fetch->release(id_.value(), piece->charge);
    return skip_object();
  }
  if (auto started = start_reading(*piece); !started) {
    setup_.fetch->release(id_.value(), piece->charge);
    return fail(std::move(started).error());
  }
  push(*std::move(piece));
  return Idle{};
}

Result<void> S3Lane::start_reading(Piece& piece) {
  auto codec = choose_codec(setup_.compression, object().key, piece.content_encoding, piece.bytes.view());
  if (!codec) return fail(located(std::move(codec).error()));
  codec_ = *codec;
  const ListedObject listed = object();
  auto origin = std::make_shared<Origin>(setup_.origin);
  origin->object = listed.key;
  origin->etag = listed.etag;
  origin->last_modified = listed.last_modified;
  MILLRACE_ASSIGN(origin->first_offset, record_offset(ordinal_, 0));
  origin_ = std::move(origin);
  reader_.start(decompressor(codec_));
  reading_ = true;
  index_ = 0;
  records_hash_.reset();
  proven_ = false;
  counted_bytes_ = 0;
  return {};
}

Decompressor* S3Lane::decompressor(Codec codec) {
  if (codec == Codec::none) return nullptr;
  if (codec != decompressor_codec_) {
    decompressor_.reset();  // before the next one takes its memory
    decompressor_ = make_decompressor(codec, setup_.decompressor_options);
    decompressor_codec_ = codec;
  }
  return decompressor_.get();
}

/// Frames until there is a batch, the bytes run out, or the object ends.
Result<PollResult> S3Lane::frame(std::size_t max_records) {
  for (int windows = 0;; ++windows) {
    auto status = reader_.next(max_records, frames_);
    const std::uint64_t decoded = reader_.decoded_bytes();
    setup_.metrics.bytes_decoded.add(decoded - counted_bytes_);
    counted_bytes_ = decoded;
    if (!status) return fail(unreadable(std::move(status).error()));
    switch (*status) {
      case FrameReader::Status::frames: {
        if (index_ == 0) {
          MILLRACE_TRY(check_first_frame());
          take_columns();
        }
        if (discard_ == 0) return batch_of(0);
        const std::size_t drop = std::min<std::uint64_t>(discard_, frames_.size());
        MILLRACE_TRY(count_off(drop));
        if (drop < frames_.size()) return batch_of(drop);
        if (windows < kWindowsOfOnePoll) continue;
        feed_.nudge();
        return Idle{};
      }
      case FrameReader::Status::needs_chunk: {
        release_piece();
        auto piece = take_piece();
        if (!piece) return Idle{};
        if (piece->error) {
          setup_.fetch->release(id_.value(), piece->charge);
          return fail(*std::move(piece->error));
        }
        push(*std::move(piece));
        continue;
      }
      case FrameReader::Status::end:
        if (discard_ > 0) return fail(located(too_short()));
        finish_object();
        return completion_batch(ordinal_);
    }
  }
}

/// Never emitted as records (D06): what has been decompressed once and still is compressed.
Result<void> S3Lane::check_first_frame() const {
  if (codec_ == Codec::none) return {};
  const auto inner = codec_of_magic(frames_.front());
  if (!inner || *inner == Codec::none) return {};
  return fail(located(Error::fatal(
      ErrorCode::corrupt,
      fmt::format("decompressed once, it still begins like {}: it was compressed twice (often a .gz that was uploaded "
                  "with Content-Encoding: gzip on top), and only one layer is undone. Store it with one layer less{}",
                  to_string(*inner), setup_.quarantine ? "" : ", or leave it out with exclude"))));
}

/// The header is known with the first row; the origin that tells it to the decoder is shared from here on.
void S3Lane::take_columns() {
  auto columns = reader_.columns();
  if (!columns) return;
  // What a row says depends on it.
  for (const std::string& name : columns->names) records_hash_.fold(name);
  auto origin = std::make_shared<Origin>(*origin_);
  origin->columns = std::move(columns);
  origin_ = std::move(origin);
}

Result<PollResult> S3Lane::batch_of(std::size_t from) {
  const std::size_t count = frames_.size() - from;
  const auto last = record_offset(ordinal_, index_ + count - 1);
  if (!last) return fail(located(last.error()));
  PayloadBatch batch;
  batch.payloads = std::span(frames_).subspan(from);
  batch.partition = partition();
  batch.base_offset = *record_offset(ordinal_, index_);
  batch.timestamp = object().last_modified;
  batch.origin = origin_;
  batch.readable_padding = kBytePadding;
  lent_ = {from, count, index_};
  index_ += count;
  if (reader_.finished()) {
    const std::uint64_t ended = ordinal_;
    finish_object();
    batch.ack = setup_.acks.issue(partition(), completion_offset(ended));
    done_up_to(ended);
    return batch;
  }
  batch.ack = setup_.acks.issue(partition(), *last);
  return batch;
}

/// An empty batch that completes the objects from the present one to `last`.
PollResult S3Lane::completion_batch(std::uint64_t last) {
  PayloadBatch batch;
  batch.partition = partition();
  batch.ack = setup_.acks.issue(partition(), completion_offset(last));
  done_up_to(last);
  return batch;
}

std::optional<Piece> S3Lane::take_piece() {
  while (auto piece = feed_.take()) {
    if (piece->ordinal >= ordinal_) return piece;
    setup_.fetch->release(id_.value(), piece->charge);  // of an object that was set aside
  }
  return setup_.fetch->read_at_once(id_.value());
}

/// Left out, and counted, and named in the manifest when the position is behind it (INV-6).
Result<PollResult> S3Lane::skip_object() {
  if (route_.visit() != nullptr) {
    return fail(located(Error::fatal(ErrorCode::drift, "it is archived now; restore it, then retry")));
  }
  if (discard_ > 0) {
    return fail(located(
        Error::fatal(ErrorCode::not_supported,
                     "it has been archived since its first records were committed; on_archived: skip leaves out "
                     "whole objects only. Restore it, then run again")));
  }
  progress_->skipped.add(ordinal_);
  progress_->objects_skipped.fetch_add(1, memory_order_relaxed);
  setup_.metrics.objects_skipped.add();
  return completion_batch(ordinal_);
}

void S3Lane::push(Piece piece) {
  charge_ = piece.charge;
  progress_->bytes_done.fetch_add(piece.bytes.size(), memory_order_relaxed);
  reader_.push(std::move(piece.bytes), piece.last);
}

void S3Lane::release_piece() { setup_.fetch->release(id_.value(), std::exchange(charge_, 0)); }

void S3Lane::finish_object() {
  release_piece();
  if (setup_.receipt) {
    progress_->facts.add({.ordinal = ordinal_,
                          .stored = reader_.stored_bytes(),
                          .decoded = reader_.decoded_bytes(),
                          .xxh3 = reader_.digest(),
                          .records = index_});
  }
  if (reader_.trailing_zeros() > 0) {
    setup_.log.warn("zero bytes follow the compressed data; taken for padding",
                    {{"object", name()}, {"zeros", fmt::format("{}", reader_.trailing_zeros())}});
  }
}

void S3Lane::done_up_to(std::uint64_t last) {
  reading_ = false;
  index_ = 0;
  std::uint64_t count = 0;
  for (; !route_.at_end() && route_.ordinal() <= last; route_.next()) ++count;
  ordinal_ = route_.ordinal_or_end();
  progress_->objects_done.fetch_add(count, memory_order_relaxed);
  setup_.metrics.objects_completed.add(count);
  setup_.metrics.objects_remaining.add(-static_cast<double>(count));
}

/// Bytes that no read will bring right: they have to be put right where they lie.
Error S3Lane::unreadable(Error error) const {
  Error there = located(std::move(error));
  if (there.code() != ErrorCode::truncated && there.code() != ErrorCode::corrupt) return there;
  if (setup_.quarantine) return there;  // what is set aside has a way of its own to go on
  return std::move(there).with("to go on",
                               fmt::format("put an undamaged copy in its place, or leave it out with exclude; where "
                                           "some of its records are committed already, {}; with another exclude, {}",
                                           kGoPast, kStartOver));
}

Error S3Lane::located(Error error) const {
  std::string text = fmt::format("object '{}'", name());
  if (reading_ && codec_ != Codec::none) text += fmt::format(" ({})", to_string(codec_));
  return std::move(error)
      .prefixed(text + ": ")
      .as(ErrorClass::fatal)
      .with("records_before", fmt::format("{}", index_))
      .with("lane", fmt::format("{}", id_.value()));
}

std::string S3Lane::name() const { return setup_.url + printable(object().key); }

}  // namespace millrace::s3_source
