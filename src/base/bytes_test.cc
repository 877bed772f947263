// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(ChunkPool, GivesTheLastFreedBlockFirst) {
  auto pool = ChunkPool::make(1024, 16, 4);
  ByteChunk first = pool->take();
  ByteChunk second = pool->take();
  const char* warm = second.data();
  first = {};
  second = {};
  EXPECT_EQ(pool->take().data(), warm);
}

TEST(ChunkPool, ChunksOutliveThePoolHandle) {
  auto pool = ChunkPool::make(8, 0, 1);
  ByteChunk chunk = pool->take();
  pool.reset();
  chunk.set_size(8);
  chunk.data()[7] = 'x';
  EXPECT_EQ(chunk.view().back(), 'x');
}

TEST(ByteChunk, PaddingBehindTheDataIsReadable) {
  ByteChunk chunk = ByteChunk::allocate(3, 5);
  chunk.set_size(3);
  EXPECT_EQ(chunk.data()[3 + kBytePadding - 1], 0);
}

TEST(ByteBuffer, TruncateTakesBackAHalfWrittenRecord) {
  ByteBuffer buffer;
  buffer.append("whole,");
  const std::size_t start = buffer.size();
  buffer.append(std::string(1000, 'h'));
  buffer.truncate(start);
  buffer.push_back('x');
  EXPECT_EQ(buffer.view(), "whole,x");
}

}  // namespace
}  // namespace millrace
