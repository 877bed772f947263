// SPDX-License-Identifier: Apache-2.0
// Typed records: orders come as JSON, are read into a struct, filtered and mapped, and leave as JSON of another shape.
// What does not fit the type is skipped, counted and named; nothing disappears on the way. The orders lie in memory
// here; S3Source and S3Sink (millrace/connectors/s3.h) take the same place.
#include <millrace/decode/json.h>
#include <millrace/encode/encode.h>
#include <millrace/ops/ops.h>
#include <millrace/pipeline/pipeline.h>
#include <millrace/testing/capture_sink.h>
#include <millrace/testing/memory_source.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

struct Item {
  std::string_view article;  // borrows the payload until the record is encoded
  std::uint32_t count = 0;
  double price = 0;
};
MILLRACE_JSON_FIELDS(Item, article, count, price);

struct Order {
  std::uint64_t id = 0;
  std::string_view customer;
  std::vector<Item> items;
  std::optional<std::string_view> coupon;  // may be absent or null
};
MILLRACE_JSON_FIELDS(Order, id, customer, items, coupon);

struct Invoice {
  std::uint64_t order = 0;
  std::string_view to;
  double total = 0;
};
MILLRACE_JSON_FIELDS(Invoice, order, to, total);

Invoice to_invoice(const Order& order) {
  Invoice invoice{order.id, order.customer, 0};
  for (const Item& item : order.items) invoice.total += item.count * item.price;
  return invoice;
}

constexpr std::string_view kOrders[] = {
    R"({"id":1,"customer":"Ada","items":[{"article":"gear","count":2,"price":1.25}],"coupon":"SPRING"})",
    R"({"id":2,"customer":"Bob","items":[]})",  // nothing to invoice
    R"({"id":3,"customer":"C\u00e9line","items":[{"article":"belt","count":1,"price":9.5}],"coupon":null})",
    R"({"id":4,"items":[]})",                                                           // no customer
    R"({"id":5,"customer":"Eve","items":[{"article":"nut","count":-1,"price":0.1}]})",  // a count below 0
};

}  // namespace shop

int main() {
  const auto topic = std::make_shared<millrace::testing::MemoryTopic>(1);
  for (const std::string_view order : shop::kOrders) topic->append(millrace::PartitionId(0), std::string(order));
  topic->end();
  const auto written = std::make_shared<millrace::testing::Capture>();

  namespace decode = millrace::decode;
  namespace ops = millrace::ops;
  namespace encode = millrace::encode;
  millrace::Pipeline pipeline({.name = "orders"});
  const millrace::RunReport report =
      pipeline.sink(millrace::testing::CaptureSink::make(written))
          .chain([](const millrace::ChainContext&) {
            return decode::json<shop::Order>({.on_error = millrace::OnError::skip}) |
                   ops::filter([](const shop::Order& order) { return !order.items.empty(); }) |
                   ops::map(shop::to_invoice) | encode::json_lines();
          })
          .run(millrace::testing::MemorySource::make(topic));

  for (const std::string& line : written->lines()) std::printf("%s\n", line.c_str());
  std::fprintf(stderr, "%s: %d in, %d out, %d filtered", std::string(to_string(report.state)).c_str(),
               static_cast<int>(report.records_in), static_cast<int>(report.records_out),
               static_cast<int>(report.records_filtered));
  for (const auto& [reason, count] : report.records_skipped) {
    std::fprintf(stderr, ", %d skipped as %s", static_cast<int>(count), reason.c_str());
  }
  std::fprintf(stderr, "\n");
  return report.exit_code();
}
