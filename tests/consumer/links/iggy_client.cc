// SPDX-License-Identifier: Apache-2.0
#include <millrace/iggy_client/client.h>

int main() { return millrace::iggy::Client::make({}) ? 1 : 0; }  // an address is missing
