// SPDX-License-Identifier: Apache-2.0
#include <millrace/testing/memory_topic.h>
#include <millrace/testing/simulator.h>

int main() { return millrace::testing::simulation_seeds(2).size() == 2 ? 0 : 1; }
