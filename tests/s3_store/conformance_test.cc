// SPDX-License-Identifier: Apache-2.0
// Goal: the S3 store keeps every promise of ObjectStore. Method: the suite that all stores pass, over the fault server,
// which checks each signature and encodes listings as AWS does.
#include <gtest/gtest.h>

#include "millrace/testing/store_conformance.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

millrace::testing::StoreUnderTest on_fault_server() {
  auto fixture = std::make_shared<testing::Fixture>();
  auto store = std::move(fixture->store);
  return {std::move(store), "in/", std::move(fixture)};
}

[[maybe_unused]] const int kCases =
    millrace::testing::register_store_conformance("S3StoreConformance", {}, on_fault_server);

}  // namespace
}  // namespace millrace::s3
