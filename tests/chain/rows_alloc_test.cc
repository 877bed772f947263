// SPDX-License-Identifier: Apache-2.0
// INV-8: once its buffers have grown, a lane that checks records against columns allocates nothing for one, be it flat
// or of so many braces that its depth has to be looked at.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "millrace/encode/rows_format.h"
#include "tests/chain/allocation_count.h"

namespace millrace {
namespace {

TEST(RowsAllocations, INV8_NoneForARecord) {
  RowShape columns;
  columns.fields = {*parse_column("a json")};
  EncodeSpec spec;
  spec.format = EncodeFormat::rows;
  spec.include_metadata = true;
  spec.rows = std::make_shared<RowBook>(columns);
  encode::RowsFormat format(spec);
  const Origin origin;
  format.begin_batch(&origin);
  std::string wide = R"({"a":[)";
  for (int i = 0; i < 1500; ++i) wide += "{},";
  wide += "1]}";
  ByteBuffer out;
  for (const std::string& record : {std::string(R"({"a":{"b":[1,2]}})"), wide}) {
    const auto allocations_of = [&](int records) {
      const std::size_t before = allocation_count();
      for (int i = 0; i < records; ++i) {
        out.clear();
        if (!format.encode(decode::Json{record, false}, {}, out)) return SIZE_MAX;
      }
      return allocation_count() - before;
    };
    ASSERT_NE(allocations_of(3), SIZE_MAX);
    EXPECT_EQ(allocations_of(100), 0U) << record.size() << " bytes";
  }
}

}  // namespace
}  // namespace millrace
