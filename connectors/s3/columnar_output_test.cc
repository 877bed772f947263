// SPDX-License-Identifier: Apache-2.0
// Files in columns as the writer sees them, with a converter that can be read: which columns they have, when these are
// kept, and what a retry sends.
#include "connectors/s3/columnar_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "connectors/s3/writer_fixture.h"
#include "millrace/base/sync.h"
#include "millrace/encode/row_reader.h"
#include "millrace/encode/rows_format.h"

namespace millrace::s3_sink {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kKept = "out/_millrace/p/schema.json";

/// Writes the columns, then the lines with capitals for their small letters.
class Loud final : public ColumnarConverter {
 public:
  Loud(std::string columns, int& conversions) : columns_(std::move(columns)), conversions_(&conversions) {}
  Result<void> convert(std::string_view lines, const Write& write) override {
    ++*conversions_;
    MILLRACE_TRY(write(columns_));
    std::string loud(lines);
    std::ranges::transform(loud, loud.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
    return write(loud);
  }

 private:
  std::string columns_;
  int* conversions_;
};

class ColumnarOutputTest : public S3WriterTest {
 protected:
  static RowShape inferring() {
    RowShape shape;
    shape.settled = shape.dots_lead_inside = shape.include_metadata = false;
    shape.unknown = UnknownColumns::ignore;
    return shape;
  }
  Result<std::shared_ptr<ColumnarOutput>> open(RowShape shape = inferring()) {
    rows_ = std::make_shared<RowBook>(std::move(shape));
    ColumnarOutput::Options options;
    options.kind.make = [this](const std::shared_ptr<const RowShape>& of,
                               const ColumnarOptions&) -> Result<std::unique_ptr<ColumnarConverter>> {
      std::string columns;
      for (const Column& column : of->columns()) columns += to_text(column) + ";";
      return std::make_unique<Loud>(columns, conversions_);
    };
    options.rows = rows_;
    options.store = faulty_;
    options.conditions = conditions_;
    options.key = kKept;
    options.location = std::string("s3://b/") + kKept;
    options.spool_dir = spool_dir_;
    return ColumnarOutput::open(std::move(options));
  }
  std::shared_ptr<Upload> in_columns(RowShape shape = inferring()) {
    auto made = upload(IfExists::verify);
    auto columns = open(std::move(shape));
    EXPECT_TRUE(columns) << columns.error().message();
    made->columns = *columns;
    return made;
  }

  /// What a lane does with a record that fits.
  void saw(std::string_view record) {
    const auto from = rows_->shape();
    EXPECT_TRUE(rows_->replace(from, widened(from, record)));
  }

  std::shared_ptr<RowBook> rows_;
  int conversions_ = 0;
  bool conditions_ = true;
  std::string spool_dir_;
};

TEST_F(ColumnarOutputTest, TheObjectIsWhatWasMadeOfTheLines) {
  const auto shared = in_columns();
  ObjectWriter writer(shared);
  saw(R"({"a":1})");
  SealedBatch sealed = batch("{\"a\":1}\n");
  const auto receipt = writer.write(sealed);
  ASSERT_TRUE(receipt) << receipt.error().describe();
  EXPECT_EQ(memory_->contents().at(kKey), "a int64;{\"A\":1}\n");
  EXPECT_EQ(receipt->bytes_written, 16U);
  EXPECT_EQ(sealed.chunk.bytes.view(), "{\"a\":1}\n") << "what a dead letter would keep";
}

// The columns are durable before the first object, which has them.
TEST_F(ColumnarOutputTest, InferredColumnsAreKeptFirst) {
  const auto shared = in_columns();
  ObjectWriter writer(shared);
  saw(R"({"a":1,"b":null})");
  for (std::uint64_t i = 0; i < 2; ++i) {
    SealedBatch sealed = batch("{}\n", i, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    ASSERT_TRUE(writer.write(sealed));
  }
  EXPECT_EQ(memory_->contents().at(kKept),
            "{\n  \"schema\": 1,\n  \"columns\": [\n    \"a int64\",\n    \"b json\"\n  ]\n}\n");
  const auto requests = memory_->requests();
  ASSERT_THAT(requests, SizeIs(4)) << "looked for, kept, and one PUT an object";
  EXPECT_EQ(requests[0].op, StoreOp::get);
  EXPECT_EQ(requests[1].op, StoreOp::put);
  EXPECT_EQ(requests[1].key, kKept);
  EXPECT_EQ(requests[1].condition, PutCondition::if_absent);
  EXPECT_TRUE(rows_->shape()->settled);
}

TEST_F(ColumnarOutputTest, ALaterRunHasTheColumnsOfTheFirst) {
  memory_->set(kKept, R"({"schema":1,"columns":["x string","y.z json"]})");
  const auto shared = in_columns();
  EXPECT_TRUE(rows_->shape()->settled) << "before a record comes";
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n");
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_EQ(memory_->contents().at(kKey), "x string;y.z json;{}\n");
  EXPECT_EQ(memory_->count(StoreOp::put), 1U) << "nothing is kept again";
}

TEST_F(ColumnarOutputTest, GivenColumnsNeedNoObject) {
  RowShape given;
  given.fields = {{"g", ColumnType::date}};
  given.include_metadata = false;
  given.unknown = UnknownColumns::fail;
  const auto shared = in_columns(given);
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n");
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_EQ(memory_->count(StoreOp::get), 0U);
  EXPECT_THAT(memory_->contents(), SizeIs(1));
}

TEST_F(ColumnarOutputTest, WhatIsKeptAndCannotBeReadEndsTheStart) {
  for (const char* text : {"", "{}", "[]", R"({"schema":2,"columns":[]})", R"({"schema":1,"columns":[1]})",
                           R"({"schema":1,"columns":["a null"]})", R"({"schema":1,"columns":[],"more":1})",
                           R"({"schema":1,"columns":["a int64","a int64"]})", R"({"schema":1,"columns":[]})",
                           R"({"schema":1,"columns":["a int64","_offset int64 required"]})"}) {
    memory_->set(kKept, text);
    const auto opened = open();
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code(), ErrorCode::config);
    EXPECT_THAT(opened.error().message(), HasSubstr(kKept));
    EXPECT_THAT(opened.error().message(), HasSubstr("that object"));
  }
  faulty_->add({.op = StoreOp::get, .error = unavailable()});
  EXPECT_FALSE(open());
}

// B05: S3 says so of what is not there, where one may not list. Of what is there, it is found out by the put.
TEST_F(ColumnarOutputTest, ForbiddenMayMeanAbsent) {
  faulty_->add({.op = StoreOp::get,
                .times = Fault::kAlways,
                .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  for (const bool there : {false, true}) {
    if (there) memory_->set(kKept, R"({"schema":1,"columns":["x string"]})");
    const auto shared = in_columns();
    saw(R"({"a":1})");
    ObjectWriter writer(shared);
    SealedBatch sealed = batch("{}\n", there ? 1 : 0, there ? 1000 : 0, there ? 1001 : 999);
    const auto written = writer.write(sealed);
    ASSERT_EQ(written.has_value(), !there);
    if (there) {
      EXPECT_THAT(written.error().message(), HasSubstr("s3:GetObject"));
      EXPECT_FALSE(written.error().is_retryable());
    } else {
      EXPECT_TRUE(memory_->remove(kKept));
    }
  }
}

// The answer was lost: what is there is ours. Another run's is not.
TEST_F(ColumnarOutputTest, OfTwoRunsTheLaterOneStops) {
  {
    const auto shared = in_columns();
    faulty_->add({.op = StoreOp::put, .key = kKept, .error = unavailable(), .done_anyway = true});
    ObjectWriter writer(shared);
    SealedBatch sealed = batch("{}\n");
    saw(R"({"a":1})");
    const auto first = writer.write(sealed);
    ASSERT_FALSE(first);
    EXPECT_TRUE(first.error().is_retryable());
    EXPECT_FALSE(memory_->contents().contains(kKey));
    ASSERT_TRUE(writer.write(sealed));
  }
  memory_->set(kKept, "");
  EXPECT_TRUE(memory_->remove(kKept));
  const auto shared = in_columns();
  memory_->set(kKept, R"({"schema":1,"columns":["other string"]})");
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n", 9, 2000, 2001);
  saw(R"({"a":1})");
  const auto written = writer.write(sealed);
  ASSERT_FALSE(written);
  EXPECT_FALSE(written.error().is_retryable());
  EXPECT_THAT(written.error().message(), HasSubstr("another run has kept other columns"));
}

TEST_F(ColumnarOutputTest, AStoreWithoutConditionsIsLookedAt) {
  const auto shared = in_columns();
  faulty_->add({.op = StoreOp::put, .key = kKept, .error = Error::fatal(ErrorCode::not_supported, "501")});
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n");
  saw(R"({"a":1})");
  const auto written = writer.write(sealed);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(memory_->contents().contains(kKept));
}

// The probe has found that the store overwrites whatever the condition is: of two runs the later one still stops.
TEST_F(ColumnarOutputTest, AStoreThatIgnoresConditionsIsLookedAtFirst) {
  conditions_ = false;
  for (const bool taken : {false, true}) {
    const auto shared = in_columns();
    if (taken) memory_->set(kKept, R"({"schema":1,"columns":["other string"]})");
    ObjectWriter writer(shared);
    SealedBatch sealed = batch("{}\n");
    saw(R"({"a":1})");
    const auto written = writer.write(sealed);
    ASSERT_EQ(written.has_value(), !taken);
    for (const auto& request : memory_->requests()) {
      if (request.key != kKept || request.op != StoreOp::put) continue;
      EXPECT_EQ(request.condition, PutCondition::none);
    }
    if (taken) {
      EXPECT_THAT(written.error().message(), HasSubstr("another run has kept other columns"));
      EXPECT_THAT(memory_->contents().at(kKept), HasSubstr("other string"));
    }
    EXPECT_TRUE(memory_->remove(kKept));
  }
}

TEST_F(ColumnarOutputTest, B09_ConditionalPutsAreRefusedThoughNothingIsThere) {
  const auto shared = in_columns();
  faulty_->add({.op = StoreOp::put,
                .key = kKept,
                .error = Error::fatal(ErrorCode::precondition_failed, "412 PreconditionFailed")});
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n");
  saw(R"({"a":1})");
  const auto first = writer.write(sealed);
  ASSERT_FALSE(first);
  EXPECT_TRUE(first.error().is_retryable()) << "somebody may just have removed it";
  EXPECT_THAT(first.error().message(), ::testing::Not(HasSubstr("s3:GetObject")));
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_TRUE(memory_->contents().contains(kKept));
  EXPECT_EQ(memory_->requests().rbegin()[1].condition, PutCondition::none);
}

TEST_F(ColumnarOutputTest, NoFieldAndNoMetadataIsNoFile) {
  const auto shared = in_columns();
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("{}\n");
  const auto written = writer.write(sealed);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::config);
  EXPECT_THAT(written.error().message(), HasSubstr("parquet.schema"));
  EXPECT_FALSE(memory_->contents().contains(kKept)) << "a later run may have columns";
}

// Lanes go on while a writer settles the columns: whatever they had taken by then, and take afterwards, is a row.
TEST_F(ColumnarOutputTest, LanesGoOnWhileColumnsAreSettled) {
  constexpr int kAround = 100;  // records of each lane before the columns are settled, and after
  const auto opened = open();
  ASSERT_TRUE(opened);
  EncodeSpec spec;
  spec.format = EncodeFormat::rows;
  spec.include_metadata = false;
  spec.rows = rows_;
  saw(R"({"first":1})");
  std::array<ByteBuffer, 2> files;
  Mutex mutex;
  CondVar changed;
  int ready = 0;
  const auto lane = [&](std::size_t number) {
    encode::RowsFormat format(spec);
    int after = 0;
    for (int i = 0; after < kAround && i < 1'000'000; ++i) {
      if (rows_->shape()->settled) ++after;
      const std::string value = i % 3 == 0 ? "1" : i % 3 == 1 ? "2.5" : "\"x\"";
      const std::string record =
          "{\"f" + std::to_string((i + 7 * static_cast<int>(number)) / 4 % 500) + "\":" + value + "}";
      const std::size_t before = files[number].size();
      if (!format.encode(decode::Json{record, false}, {}, files[number])) files[number].truncate(before);
      if (i + 1 != kAround) continue;
      const MutexLock lock(mutex);
      ++ready;
      changed.notify_all();
    }
  };
  {
    Thread one("lane 0", [&] { lane(0); });
    Thread other("lane 1", [&] { lane(1); });
    {
      const MutexLock lock(mutex);
      while (ready < 2) changed.wait(mutex);
    }
    EXPECT_TRUE((*opened)->make_converter());
    one.join();
    other.join();
  }
  RowReader reader(rows_->shape(), RowReader::Of::line);
  ASSERT_TRUE(reader.shape()->settled);
  for (const ByteBuffer& file : files) {
    EXPECT_GE(std::ranges::count(file.view(), '\n'), kAround);
    for (std::string_view lines = file.view(); !lines.empty(); lines.remove_prefix(lines.find('\n') + 1)) {
      ASSERT_TRUE(reader.read(lines.substr(0, lines.find('\n')), 0)) << reader.error().message();
    }
  }
}

// A try costs no conversion, and sends the same bytes.
TEST_F(ColumnarOutputTest, AFileIsMadeOnceForAllTries) {
  const auto shared = in_columns();
  ObjectWriter writer(shared);
  saw(R"({"a":1})");
  faulty_->add({.op = StoreOp::put, .key = kKey, .times = 3, .error = unavailable()});
  SealedBatch sealed = batch("{\"a\":1}\n");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(writer.write(sealed));
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_EQ(conversions_, 1);
  SealedBatch next = batch("{\"a\":2}\n", 1, 1000, 1000);
  ASSERT_TRUE(writer.write(next));
  EXPECT_EQ(conversions_, 2);
}

// K-rows' replay: another run makes the same object of the same lines, and finds it in place.
TEST_F(ColumnarOutputTest, AReplayFindsItsOwnObject) {
  for (int run = 0; run < 2; ++run) {
    const auto shared = in_columns();
    saw(R"({"a":1})");
    ObjectWriter writer(shared);
    SealedBatch sealed = batch("{\"a\":1}\n");
    ASSERT_TRUE(writer.write(sealed));
  }
  EXPECT_EQ(memory_->contents().at(kKey), "a int64;{\"A\":1}\n");
}

TEST_F(ColumnarOutputTest, ACancelledWriterEndsAConversion) {
  const auto shared = in_columns();
  saw(R"({"a":1})");
  ObjectWriter writer(shared);
  writer.cancel();
  SealedBatch sealed = batch("{\"a\":1}\n");
  const auto written = writer.write(sealed);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::cancelled);
}

// More than is held in memory goes to the spool, and reads as one; a spool that is full holds nothing up.
TEST_F(ColumnarOutputTest, ALargeFileGoesToTheSpool) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{1}}) {
    auto spool = Spool::open(folder.string(), limit);
    ASSERT_TRUE(spool);
    ConvertedFile file(spool->get(), 10);
    std::string expected;
    for (int i = 0; i < 100; ++i) {
      const std::string piece = "piece " + std::to_string(i) + ";";
      file.append(piece);
      expected += piece;
    }
    EXPECT_EQ((*spool)->used() > 0, limit != 1);
    const auto body = file.body();
    ASSERT_TRUE(body) << body.error().message();
    EXPECT_EQ(*body, expected);
    EXPECT_EQ(*file.body(), expected) << "asked again";
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millrace::s3_sink
