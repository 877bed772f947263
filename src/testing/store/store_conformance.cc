// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/store_conformance.h"

#include <gtest/gtest.h>

#include <utility>

#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

class StoreConformanceTest : public ::testing::Test {
 public:
  StoreConformanceTest(StoreFactory factory, StorePredicates predicates, void (*body)(StoreCase&))
      : factory_(std::move(factory)), predicates_(predicates), body_(body) {}
  void TestBody() override {
    StoreCase test(factory_(), predicates_);
    body_(test);
  }

 private:
  const StoreFactory factory_;
  const StorePredicates predicates_;
  void (*const body_)(StoreCase&);
};

}  // namespace

int register_store_conformance(const std::string& suite, StorePredicates predicates, StoreFactory factory) {
  int count = 0;
  for (const auto cases : {list_cases(), key_cases(), read_cases(), write_cases(), upload_cases()}) {
    for (const NamedCase& named : cases) {
      if (!named.fits(predicates)) continue;
      ++count;
      // The type must be the fixture's own, or gtest takes each case for another suite.
      ::testing::RegisterTest(suite.c_str(), named.name, nullptr, nullptr, __FILE__, __LINE__,
                              [factory, predicates, body = named.body]() -> StoreConformanceTest* {
                                return new StoreConformanceTest(factory, predicates, body);
                              });
    }
  }
  return count;
}

}  // namespace millrace::testing
