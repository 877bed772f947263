// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <millrace/testing/conformance_tests.h>

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  return millrace::testing::register_conformance("Nothing", {}) + RUN_ALL_TESTS();
}
